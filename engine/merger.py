"""Merge: parts in file order into the store; the only step that depends on what came before.

Ids local to a mapper become the job's, facts teach the identity, and sorting by lane carries records, iterations and
stages from line to line and from block to block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from l4tui.engine import headings
from l4tui.engine.adoption import KIND, LaneKind, adopt
from l4tui.engine.carrying import SourceCarry, carry_clock, carry_iterations
from l4tui.engine.clock import date_carry
from l4tui.engine.facts import read, spoken_by
from l4tui.engine.identity import Identity
from l4tui.engine.lanes import ByLane, Lane, lane_of
from l4tui.engine.mapper import Part
from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, LineClass, Marker, Speaker
from l4tui.engine.numbering import distinct, first_seen
from l4tui.engine.planbook import PlanBook, Translation
from l4tui.engine.records import RecordCarry, assemble
from l4tui.engine.segments import Segments
from l4tui.engine.stages import StageCarry, carry_stages
from l4tui.engine.store import Growing, Store
from l4tui.engine.strands import Register
from l4tui.engine.trails import OF_AGENT
from l4tui.engine.weaving import Block, Loom

MANY = 1 << 12  # entries of a part that is not joined to those before it: a copy costs as much as it saves
MOST_TOLD = 1 << 18  # different telling lines that are heeded
_CUT, _STAMP, _OF_AGENT = int(Flag.CUT), int(LineClass.STAMP), int(min(OF_AGENT))  # enumerations are slow to ask


class Piece(NamedTuple):
    """A part of a source as its mapper has made it."""

    source: int
    base: int  # offset in the source
    part: Part
    translation: Translation  # its mapper's
    continues: bool = False  # its first line is the rest of the last line of the source's part before


class _Taken(NamedTuple):
    """A part in the job's terms; arrays with a row per entry."""

    piece: Piece
    carry: SourceCarry
    plan: np.ndarray
    speaker: np.ndarray
    flags: np.ndarray
    time: np.ndarray
    mark: np.ndarray
    line_class: np.ndarray
    begins: list[int]  # entries at which epochs and headings begin


class Merger:
    """The one writer of a store."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self.store = store
        self.identity = identity
        self.book = PlanBook()
        self.speakers: list[Speaker] = []
        self.alone = Growing(np.int64)  # per speaker: physical lines that are its own
        self.shared: dict[tuple[int, ...], int] = {}  # speakers → physical lines that hold their texts
        self._speaker_ids: dict[Speaker, int] = {}
        self._lane = Growing(np.int32)  # per speaker
        self._lane_ids: dict[Lane, int] = {}
        self._lane_kind = Growing(np.int8)  # per lane
        self._after = Growing(np.int32)  # per lane: iteration of its next line
        self.sources: dict[int, SourceCarry] = {}
        self.told: dict[tuple[int, bytes], None] = {}  # telling lines with their speakers, in order
        self.owners: dict[int, Speaker] = {}  # thread → its writer
        self._spoken: dict[tuple[int, bytes], int] = {}  # telling line → speaker that it tells
        self._register = Register()
        self._looms: dict[int, Loom] = {}  # by source
        self._forgot = False  # restored: what `told` holds is not yet learnt
        self._records = RecordCarry()
        self.stages = StageCarry()

    def add_all(self, pieces: Iterable[Piece]) -> None:
        """Append parts, those of a source in file order; small ones of many sources together cost a fraction."""
        together: dict[int, _Taken] = {}

        def settle() -> None:
            if together:
                self._settle(list(together.values()))
                together.clear()

        for piece in pieces:
            if piece.source in together:
                settle()
            taken = self._take(piece)
            if taken.begins or len(taken.plan) > MANY:
                settle()
            together[piece.source] = taken
            if taken.begins:
                settle()
        settle()

    def _take(self, piece: Piece) -> _Taken:
        """Say in the job's terms what a part holds, and who wrote it."""
        if self._forgot:
            self._learn_again()
        source, _, part, translation, continues = piece
        carry = self.sources.setdefault(source, SourceCarry())
        self.book.extend(translation, part.plans)
        translation.speakers.extend(part.speakers)
        plan = translation.plans.view().take(part.plan)
        self.book.count(plan)
        speaker, plain, begins = self._speakers(source, carry, part, translation)
        flags, time, mark = part.flags, part.time, part.mark
        line_class = self.book.line_class.view().take(plan)
        self._weave(source, part, plan, line_class, speaker, plain)
        if carry.pieces or (flags & _CUT).any():
            flags, speaker = self._join_pieces(carry, flags.copy(), speaker)
            pieces = (flags & Flag.PIECE) != 0
            line_class = np.where(pieces, np.int8(LineClass.BODY), line_class)
            time, mark = np.where(pieces, NO_TIME, time), np.where(pieces, UNKNOWN, mark)
            flags = np.where(pieces, flags & ~np.uint16(Flag.TIMED | Flag.MARKED), flags)
        if continues:  # the rest of a line: it says who wrote it, when and what only by its beginning
            flags, line_class, time, mark = flags.copy(), line_class.copy(), time.copy(), mark.copy()
            flags[0] = flags[0] & ~np.uint16(Flag.TIMED | Flag.MARKED) | Flag.SEGMENT | Flag.PIECE
            line_class[0], time[0], mark[0] = LineClass.BODY, NO_TIME, UNKNOWN
            speaker[0] = carry.last
        if part.dateless.any():
            time = date_carry(time, carry.clock, part.dateless)
        return _Taken(piece, carry, plan, speaker, flags, time, mark, line_class, begins)

    def _settle(self, some: Sequence[_Taken]) -> None:
        """Append parts of different sources with what their lines have of the lines before."""
        carries, segments = [taken.carry for taken in some], Segments([len(taken.plan) for taken in some])
        plan, speaker = _joined([taken.plan for taken in some]), _joined([taken.speaker for taken in some])
        flags, time = _joined([taken.flags for taken in some]), _joined([taken.time for taken in some])
        mark, line_class = _joined([taken.mark for taken in some]), _joined([taken.line_class for taken in some])
        clock = carry_clock(carries, time, segments)
        lane = self._lane.view().take(speaker)
        by, present = ByLane(lane), distinct(line_class, len(LineClass))
        adoptions = [carry.adoption for carry in carries]
        whose = adopt(lane, line_class, self._lane_kind.view().take(lane), adoptions, segments, present)
        heads = assemble(whose, line_class, self._records, self.store.length, by if whose is lane else None, present)
        closes, action = self._closes(plan), self.book.stage_action.view().take(plan)
        while self._after.length < len(self._lane_ids):
            self._after.append(UNKNOWN)
        if some[0].begins:
            iteration, stage = self._anew(some[0], lane, closes, action)
        else:
            iteration = carry_iterations(carries, self._after, mark, closes, by, segments)
            stage = carry_stages(action, lane, self.stages, [taken.piece.source for taken in some], segments, by)
        self._count(speaker, flags)
        columns = {
            "offset": _joined([taken.piece.part.begin for taken in some]), "plan": plan, "speaker": speaker,
            "clock": clock, "record": heads, "iteration": iteration, "stage": stage, "flags": flags,
        }  # fmt: skip
        where = [(p.source, p.base, p.part.size, c.lines + 1) for p, c in ((t.piece, t.carry) for t in some)]
        self.store.add_blocks(where, segments.starts.tolist(), columns)
        for taken in some:
            taken.carry.lines += taken.piece.part.lines - taken.piece.continues
            taken.carry.last = int(taken.speaker[-1])

    def lines(self, source: int) -> int:
        """Return the physical lines merged of a source."""
        carry = self.sources.get(source)
        return carry.lines if carry is not None else 0

    def skip(self, source: int, lines: int) -> None:
        """Leave out lines of a source: what follows is so much further down."""
        self.sources[source].lines += lines
        self.sources[source].heading = headings.NO_HEADING

    def note(self, source: int, text: str) -> None:
        """Append a line of ours that says what happened to a source."""
        carry = self.sources.setdefault(source, SourceCarry())
        plan = self.book.note_plan()
        speaker = self._speaker_id(Speaker(source, carry.restarts.epoch, launcher=True))
        row = {
            "offset": len(self.store.notes), "plan": plan, "speaker": speaker, "clock": carry.clock,
            "record": self.store.length, "iteration": carry.after, "stage": UNKNOWN, "flags": int(Flag.NOTE),
        }  # fmt: skip
        self.store.notes.append(text)
        columns = {name: np.array([value]) for name, value in row.items()}
        self.store.add_blocks([(source, -1, 0, carry.lines + 1)], [0], columns)

    # speakers

    def _speakers(
        self, source: int, carry: SourceCarry, part: Part, translation: Translation
    ) -> tuple[np.ndarray, dict[int, int], list[int]]:
        """Return the job's speaker of every entry; a sign of a restart opens a new epoch from its line on.

        Also returns, of entries whose message tells their writer, the speaker without that, and where epochs and
        what stands under headings begin.
        """
        cuts = carry.restarts.cuts(part.taught, part.mark, part.speaker, translation.speakers)
        out = np.empty(len(part.speaker), np.int32)
        told = [translation.speakers[int(part.speaker[entry])] for entry, _ in part.taught]
        headed = headings.cuts(part.taught, told, carry.heading)
        carry.heading = headed[-1][1]
        both = _both(cuts, headed)
        for (a, epoch, heading), (b, *_) in pairwise([*both, (len(out), UNKNOWN, "")]):
            out[a:b] = self._translated(source, epoch, heading, part.speaker[a:b], translation)
        plain: dict[int, int] = {}
        for entry, text in part.taught:
            who = int(out[entry])
            spoken = self._spoken.get((who, text))
            if spoken is None:
                spoken = self._learn(who, text)
            if spoken != who:
                plain[entry], out[entry] = who, spoken
        return out, plain, [entry for entry, *_ in both[1:] if entry < len(out)]

    def _learn(self, who: int, text: bytes) -> int:
        """Learn from a telling line; return the speaker that it tells."""
        if len(self._spoken) >= MOST_TOLD:
            return who
        facts = read(text, self.speakers[who])
        if (who, text) not in self.told:
            self.told[who, text] = None
            self.identity.learn(facts)
        spoken = self._spoken[who, text] = self._speaker_id(spoken_by(facts, self.speakers[who]))
        return spoken

    def _translated(
        self, source: int, epoch: int, heading: str, local: np.ndarray, translation: Translation
    ) -> np.ndarray:
        voices = translation.voices(source, epoch, heading)
        out = voices.take(local)
        if len(out) and out.min() < 0:
            for voice in first_seen(local[out < 0]).tolist():
                speaker = headings.under(translation.speakers[voice], heading)._replace(source=source, epoch=epoch)
                voices[voice] = self._speaker_id(speaker)
            out = voices.take(local)
        return out

    def _weave(
        self, source: int, part: Part, plan: np.ndarray, line_class: np.ndarray, speaker: np.ndarray,
        plain: dict[int, int],
    ) -> None:  # fmt: skip
        """Give lines whose place among others tells their writer, or whom they go together with, to that speaker."""
        loom = self._looms.get(source)
        used = distinct(plan, len(self.book))
        trail, classes = self.book.trail.view(), self.book.line_class.view()[used]
        told = trail[used]
        is_told = ((told > 0) & (told < _OF_AGENT)).any()
        if not is_told and (loom is None or loom.is_idle()) and not (classes == _STAMP).any():
            return  # the common case
        if loom is None:
            loom = self._looms[source] = Loom(self._register)
        block = Block(
            trail.take(plan), line_class, speaker, lambda: self._lane.view()[speaker], self.speakers,
            dict(part.woven), plain,
        )  # fmt: skip
        for entry, who in loom.weave(block).items():
            speaker[entry] = self._speaker_id(who)
        for thread, owner in self._register.owned:
            self.own(thread, owner)
        self._register.owned.clear()

    def own(self, thread: int, owner: Speaker | None) -> None:
        """Take up who wrote a thread; None: it is not known after all."""
        self._register.next = max(self._register.next, thread + 1)
        if owner is not None:
            self.owners[thread] = owner
        else:
            self.owners.pop(thread, None)
        self.identity.own(thread, owner)

    def _speaker_id(self, speaker: Speaker) -> int:
        known = self._speaker_ids.get(speaker)
        return self.add_speaker(speaker) if known is None else known

    def add_speaker(self, speaker: Speaker) -> int:
        """Number a speaker not seen before."""
        known = self._speaker_ids[speaker] = len(self.speakers)
        self.speakers.append(speaker)
        self.alone.append(0)
        self._lane.append(self._lane_id(lane_of(speaker)))
        return known

    def _lane_id(self, lane: Lane) -> int:
        known = self._lane_ids.setdefault(lane, len(self._lane_ids))
        if known == self._lane_kind.length:
            self._lane_kind.append(KIND.get(str(lane[0]), LaneKind.PREFIX))
        return known

    def _join_pieces(self, carry: SourceCarry, flags: np.ndarray, speaker: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the rest of a line that the launcher cut to the speaker of its beginning."""
        speaker = speaker.copy()
        for i, (bits, who) in enumerate(zip(flags.tolist(), speaker.tolist(), strict=True)):
            task = self.speakers[who].task
            if task in carry.pieces:
                speaker[i] = carry.pieces.pop(task)
                flags[i] |= Flag.PIECE
            if bits & Flag.CUT:
                carry.pieces[task] = int(speaker[i])
        return flags, speaker

    # a stored state

    def carried(self) -> dict[str, np.ndarray]:
        """Return the arrays that later parts go on from."""
        records = self._records
        return {
            "alone": self.alone.view(), "after": self._after.view(), "stages": self.stages.lanes,
            "head": records.head, "mode": records.mode, "left": records.left,
        }  # fmt: skip

    def restore_carried(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `carried` returned; speakers come before it."""
        self.alone.replace(arrays["alone"])
        self._after.replace(arrays["after"])
        self.stages.lanes = arrays["stages"].copy()
        self._records.head, self._records.mode = arrays["head"].copy(), arrays["mode"].copy()
        self._records.left = arrays["left"].copy()
        self._forgot = True

    def _learn_again(self) -> None:
        self._forgot = False
        for who, text in self.told:
            self.identity.learn(read(text, self.speakers[who]))

    # carried columns

    def _closes(self, plan: np.ndarray) -> np.ndarray | None:
        """Say which lines stand at the end of their iteration; None: no line does."""
        closes = (self.book.marker.view() == Marker.CLOSE).take(plan)
        return closes if closes.any() else None

    def _anew(
        self, taken: _Taken, lane: np.ndarray, closes: np.ndarray | None, action: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return iterations and stages of a part in which epochs begin: nothing is carried into an epoch."""
        source, carry, begins = taken.piece.source, taken.carry, taken.begins
        iterations, stages = [], []
        for a, b in pairwise([*dict.fromkeys([0, *begins]), len(lane)]):
            if a or begins[0] == 0:
                carry.after = UNKNOWN
                self.stages.sources.pop(source, None)
            by, one = ByLane(lane[a:b]), Segments([b - a])
            closing = None if closes is None else closes[a:b]
            iterations.append(carry_iterations([carry], self._after, taken.mark[a:b], closing, by, one))
            stages.append(carry_stages(action[a:b], by.lane, self.stages, [source], one, by))
        return np.concatenate(iterations), np.concatenate(stages)

    def _count(self, speaker: np.ndarray, flags: np.ndarray) -> None:
        """Count physical lines: those of one entry by speaker, the others by the set of their speakers."""
        parted = flags & (Flag.SEGMENT | Flag.SPLIT)
        whole = not parted.any()
        self.alone.count(speaker if whole else speaker[parted == 0])
        if whole:
            return
        split = np.flatnonzero(flags & Flag.SPLIT)
        starts = np.flatnonzero((flags[split] & Flag.SEGMENT) == 0)
        for entries in np.split(split, starts):
            if len(entries):
                group = tuple(sorted(set(speaker[entries].tolist())))
                self.shared[group] = self.shared.get(group, 0) + 1


def _both(epochs: Sequence[tuple[int, int]], headed: Sequence[tuple[int, str]]) -> list[tuple[int, int, str]]:
    """Return (entry, epoch, heading) from which on both hold."""
    if len(headed) == 1:  # the common case
        return [(entry, epoch, headed[0][1]) for entry, epoch in epochs]
    begins = sorted({entry for entry, _ in (*epochs, *headed)})
    epoch_at, heading_at = dict(epochs), dict(headed)
    epoch, heading, out = 0, headings.NO_HEADING, []
    for entry in begins:
        epoch, heading = epoch_at.get(entry, epoch), heading_at.get(entry, heading)
        out.append((entry, epoch, heading))
    return out


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)
