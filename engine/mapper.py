"""Map: a block of whole lines to columns, with no Python code per line but for lines never seen before.

A mapper belongs to one dialect and remembers plans and speakers across blocks. It knows nothing of other blocks' lines:
the merge (merger.py) carries records, iterations and dates from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from l4tui.engine.clock import ClockContext, clock_spans, compile_clock
from l4tui.engine.crowds import Crowds
from l4tui.engine.digits import WIDEST
from l4tui.engine.facts import teaches
from l4tui.engine.formats import Dialect, Parser, may_cut, midline_suspects
from l4tui.engine.formats.parser import HEAD
from l4tui.engine.glance import Glance
from l4tui.engine.keys import LONGEST_KEY, Keys, key_of, volatile_key
from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Parse, Speaker
from l4tui.engine.numbering import Numbering, distinct
from l4tui.engine.plans import ITER, SITE, PlanInfo, Plans
from l4tui.engine.records import classify
from l4tui.engine.segments import Segments
from l4tui.engine.telling import taught, woven
from l4tui.engine.tidy import Tidy, is_plain, line_starts, tidy, untouched
from l4tui.engine.voices import Voices, speaker_of

MOST_KEYS = 1 << 17  # keys remembered, each level; past it new lines share plans: crowds.py
MANY_KEYS = 1 << 14  # and of a text whose every other line is like none before it
FEW_LINES = 512  # of a block: so many are looked up one by one
MOST_LEARNT = 512  # lines of a block whose keys are learnt for the next one
MOST_ITERATION = 2**31 - 2  # the column holds int32; a number above it counts something else



class Part(NamedTuple):
    """One block, mapped: arrays with a row per entry, ids local to the mapper."""

    begin: np.ndarray  # int64, offsets in the block
    plan: np.ndarray  # int32
    speaker: np.ndarray  # int32
    time: np.ndarray  # int64 ns, NO_TIME
    dateless: np.ndarray  # bool: time is a time of day only
    mark: np.ndarray  # int64: iteration number in the line, -1
    flags: np.ndarray  # uint16
    size: int  # bytes of the block
    lines: int  # physical lines
    plans: list[PlanInfo]  # new since the mapper's previous part
    speakers: list[Speaker]  # new since then; source and epoch are the merger's to fill
    taught: list[tuple[int, bytes]]  # entry and message of lines that tell who is where; once per speaker, if tagged
    woven: list[tuple[int, bytes]]  # the same of lines whose place among others tells who wrote them (trails.TOLD)


class _Planned(dict[bytes, int]):
    """Plans by key; -1 for a key never seen."""

    def __missing__(self, key: bytes) -> int:
        return UNKNOWN


class Lookup(NamedTuple):
    """Lines of tidy data and what is known of them."""

    data: bytes
    zeroed: np.ndarray  # uint8: the same with every digit as 0
    begin: np.ndarray  # int64: where each line begins in the data
    plan: np.ndarray  # int64, -1: a key not seen yet

    def line(self, row: int) -> bytes:
        at = int(self.begin[row])
        return self.data[at : self.data.index(b"\n", at)]

    def key(self, row: int) -> bytes:
        at = int(self.begin[row])
        return self.zeroed[at : self.data.index(b"\n", at)].tobytes()


class Mapper:
    """Reads blocks of one dialect."""

    def __init__(self, parser: Parser, dialect: Dialect) -> None:
        self.parser = parser
        self.dialect = dialect
        self.context = ClockContext()
        self.table = Plans()
        self.voices = Voices(self.table)
        self._keys = _Planned()
        self._splitter = Keys()
        self._glance = Glance()
        self._masked: dict[bytes, int] = {}
        self._is_tagged = False  # some plan is
        self._crowds: Crowds | None = None  # once there are too many keys
        self._parsed: dict[int, Parse] = {}  # by row of the block: lines whose plan had to be made
        self._lines = 0
        self._sites: dict[tuple[int, int], int] = {}
        self._plan_numbers = Numbering()
        self._voice_numbers = Numbering()

    def number_anew(self) -> None:
        """Begin with no plan and speaker numbered; what keys tell is kept."""
        self._plan_numbers, self._voice_numbers = Numbering(), Numbering()

    @property
    def is_crowded(self) -> bool:
        """Whether so many keys are known that another's lines might have to share plans."""
        return len(self._masked) > MOST_KEYS // 8 or len(self._keys) > MOST_KEYS // 2

    def map(self, block: bytes, context: ClockContext) -> Part:
        """Map a block of whole lines (the last one may lack its newline); the context dates its clocks."""
        self.context = context
        self._parsed.clear()
        t, begin, plan = self._entries(block)
        return self._parts(t, begin, plan, [len(plan)], [len(block)], len(block) + (not block.endswith(b"\n")))[0]

    def map_all(self, blocks: Sequence[bytes], contexts: Sequence[ClockContext]) -> list[Part]:
        """Map blocks of different sources: what `map` makes of each in turn, small ones at a fraction of the cost."""
        if len(blocks) == 1:
            return [self.map(blocks[0], contexts[0])]
        parts: list[Part] = []
        for plain, some in groupby(zip(blocks, contexts, strict=True), key=lambda one: is_plain(one[0])):
            pairs = list(some)
            self.context = pairs[0][1]  # for the zone, which is everybody's
            together = self._together([block for block, _ in pairs]) if plain and len(pairs) > 1 else None
            parts += together or [self.map(block, context) for block, context in pairs]
        return parts

    def _together(self, blocks: Sequence[bytes]) -> list[Part] | None:
        """Map plain blocks as one; None where a line has to be read alone, or needs its own source's year."""
        ended = [block if block.endswith(b"\n") else block + b"\n" for block in blocks]
        t = untouched(b"".join(ended))
        found = self._look_up(t.data, t.begin)
        tagged = self._may_cut(found)
        if tagged and midline_suspects(t.data, self.dialect):
            return None
        self._parsed.clear()
        plan = self._filled(found, tagged)
        used = distinct(plan, len(self.table))
        stamps = distinct(self.table.stamp[used] + 1, len(self.table.stamps) + 1) - 1
        if self.table.loose[used].any() or any(self.table.stamps[s].clock.lacks_year for s in stamps[stamps >= 0]):
            self._lines -= len(plan)
            return None
        entries, sizes = [block.count(b"\n") for block in ended], [len(block) for block in blocks]
        return self._parts(t, found.begin, plan, entries, sizes, len(t.data))

    def _parts(
        self, t: Tidy, begin: np.ndarray, plan: np.ndarray, entries: Sequence[int], sizes: Sequence[int], whole: int
    ) -> list[Part]:
        """Return what lines of these plans hold, in parts of so many entries and bytes; `whole`: with last newlines."""
        raw = np.frombuffer(t.data, np.uint8)
        plan, used = self._sited(raw, begin, plan)
        loose = self.table.loose.take(plan) if self.table.loose[used].any() else None
        speaker = self.voices.of(raw, t.data, begin, plan, used)
        mark = self.table.field(raw, begin, plan, used, ITER, UNKNOWN)
        time, dateless = self._times(raw, begin, plan, used)
        flags = t.flags
        if loose is not None:
            flags |= np.where(loose, np.uint16(Flag.LOOSE), np.uint16(0))
            self._read_loose(t.data, begin, np.flatnonzero(loose), speaker, time, dateless, mark)
        mark[mark > MOST_ITERATION] = UNKNOWN
        flags |= _bits(time != NO_TIME, Flag.TIMED)
        flags |= _bits(mark >= 0, Flag.MARKED)
        if self.dialect.piece:
            flags |= self._cut(t, whole, plan)
        segments = Segments(entries)
        teaching = taught(self.table, t.data, begin, plan, used, speaker, segments)
        weaving = woven(self.table, t.data, begin, plan, used, segments)
        plans, new_plans = self._plan_numbers.of(plan, len(self.table))
        speakers, new_voices = self._voice_numbers.of(speaker, len(self.voices.speakers))
        infos, voices = [self.table.infos[p] for p in new_plans], [self.voices.speakers[v] for v in new_voices]
        out: list[Part] = []
        for k, (a, b) in enumerate(zip(segments.starts.tolist(), segments.ends.tolist(), strict=True)):
            lines = b - a - int(np.count_nonzero(flags[a:b] & Flag.SEGMENT))
            own = t.begin[a:b] - t.begin[a] if a else t.begin[:b]
            out.append(Part(
                own, plans[a:b], speakers[a:b], time[a:b], dateless[a:b], mark[a:b], flags[a:b], sizes[k], lines,
                [] if k else infos, [] if k else voices, teaching[k], weaving[k],
            ))  # fmt: skip
        return out

    # keys

    def _entries(self, block: bytes) -> tuple[Tidy, np.ndarray, np.ndarray]:
        """Return the entries of a block, where each begins in the tidy data, and the plan of each.

        Whether a line may have to be cut is known by its key, so a block of known keys is not searched for tags.
        """
        if is_plain(block):
            t = untouched(block)
            found = self._look_up(t.data, t.begin)
            if not self._may_cut(found):
                return t, found.begin, self._filled(found)
            if not midline_suspects(t.data, self.dialect):
                return t, found.begin, self._filled(found, tagged=True)
        t = tidy(block, self.dialect)
        found = self._look_up(t.data, line_starts(t.data))
        return t, found.begin, self._filled(found, tagged=True)

    def _look_up(self, data: bytes, begin: np.ndarray) -> Lookup:
        zeroed = self._splitter.zeroed(data)
        found = Lookup(data, zeroed, begin, np.full(len(begin), UNKNOWN, np.int64))
        is_long = len(begin) > FEW_LINES
        if is_long:
            found.plan[:] = self._glance.plans(zeroed, begin, np.diff(begin, append=len(data)) - 1)
        rest = np.flatnonzero(found.plan < 0)
        if len(rest) > len(begin) // 8:
            keys = self._splitter.of(zeroed)
            found.plan[:] = np.fromiter(map(self._keys.__getitem__, keys), np.int64, len(keys))
        else:
            for row in rest.tolist():
                found.plan[row] = self._keys[found.key(row)]
        if is_long:
            met = rest[found.plan[rest] >= 0][:MOST_LEARNT]
            self._glance.learn({found.key(row): int(found.plan[row]) for row in met.tolist()})
        return found

    def _may_cut(self, found: Lookup) -> bool:
        """Say whether a block of whole lines may hold one that has to be cut."""
        if self.dialect.midline is None:
            return False
        if self._is_tagged and self.table.tagged.take(found.plan[found.plan >= 0]).any():
            return True
        return any(may_cut(found.line(row), self.dialect) for row in np.flatnonzero(found.plan < 0).tolist())

    def _filled(self, found: Lookup, tagged: bool = False) -> np.ndarray:
        """Return the plans of all lines; what was not seen before is parsed. `tagged`: some may hold a tag."""
        self._lines += len(found.begin)
        for row in np.flatnonzero(found.plan < 0).tolist():
            line = found.line(row)
            plan = found.plan[row] = self._miss(line, found.key(row), row)
            if tagged and may_cut(line, self.dialect):
                self._is_tagged = self.table.tagged[plan] = True
        return found.plan

    def _miss(self, line: bytes, key: bytes, row: int) -> int:
        found: int | None = self._keys[key]
        if found is not None and found >= 0:  # seen earlier in this block
            return found
        known = -1
        if self._crowds is not None:
            known, is_sure = self._crowds.known(line, key)
            if is_sure:
                return known
        masked, holds_to = volatile_key(line)
        if len(line) > LONGEST_KEY and holds_to < 0:
            holds_to = LONGEST_KEY
        found = self._masked.get(masked)
        if found is None:
            if known >= 0:
                return known
            if self._is_full():
                return self._crowd(line, key, row)
            found = self._new_plan(line, masked, holds_to)
        if holds_to < 0 and len(self._keys) < MOST_KEYS:
            self._keys[key] = found
        return found

    def _new_plan(self, line: bytes, masked: bytes, holds_to: int) -> int:
        parse = self._parse(line)
        line_class = classify(line[parse.text_at :], parse)
        plan = self.table.add(line, masked, key_of(line[parse.text_at :]), parse, line_class, holds_to)
        self._masked[masked] = plan
        return plan

    def _parse(self, line: bytes) -> Parse:
        parse = self.parser.parse(line)
        if len(line) > HEAD and not parse.teaches and teaches(line[parse.text_at :]):  # the parser saw no more
            parse = replace(parse, teaches=True)
        return parse

    def _is_full(self) -> bool:
        """Say whether another key is worth nothing: there is no room, or most lines are like no others."""
        if self._crowds is not None:
            return True
        keys = len(self._masked)
        return keys >= MOST_KEYS or (keys >= MANY_KEYS and 2 * keys > self._lines)

    def _crowd(self, line: bytes, key: bytes, row: int) -> int:
        """Return the shared plan of a line that has to be parsed."""
        if self._crowds is None:
            self._crowds = Crowds(self.table)
        parse = self._parsed[row] = self._parse(line)
        return self._crowds.add(line, key, parse)

    # fields

    def _sited(self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give lines whose call site has another line number than their plan a plan of their own.

        Returns the plan of every line, and the plans that occur.
        """
        used = distinct(plan, len(self.table))
        if not (self.table.site_line[used] >= 0).any():
            return plan, used
        other = self.table.other_sites(raw, begin, plan)
        if not len(other):
            return plan, used
        line = self.table.field(raw, begin[other], plan[other], used, SITE, UNKNOWN)
        pairs, back = np.unique(np.stack((plan[other], line)), axis=1, return_inverse=True)
        plan[other] = np.array([self._site(*pair) for pair in pairs.T.tolist()])[back.reshape(-1)]
        return plan, distinct(plan, len(self.table))

    def _site(self, plan: int, line: int) -> int:
        """Return the plan of the same key at another line of the source code."""
        known = self._sites.get((plan, line))
        if known is None:
            known = plan
            if len(self._sites) < MOST_KEYS and 0 <= line < 1 << 30:
                known = self._sites[plan, line] = self.table.variant(plan, line)
        return known

    def _times(
        self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray, used: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        stamps = distinct(self.table.stamp[used] + 1, len(self.table.stamps) + 1) - 1
        at = begin + self.table.stamp_at.take(plan)
        if len(stamps) == 1 and stamps[0] >= 0:
            stamp = self.table.stamps[stamps[0]]
            time = stamp.times(raw, at, self.context)
            return time, (time != NO_TIME) if stamp.clock.dateless else np.zeros(len(plan), bool)
        time = np.full(len(plan), NO_TIME, np.int64)
        dateless = np.zeros(len(plan), bool)
        which = self.table.stamp.take(plan)
        for one in stamps[stamps >= 0].tolist():
            rows = np.flatnonzero(which == one)
            time[rows] = self.table.stamps[one].times(raw, at[rows], self.context)
            dateless[rows] = self.table.stamps[one].clock.dateless
        return time, dateless & (time != NO_TIME)

    # lines that are read one by one

    def _read_loose(
        self, data: bytes, begin: np.ndarray, rows: np.ndarray,
        speaker: np.ndarray, time: np.ndarray, dateless: np.ndarray, mark: np.ndarray,
    ) -> None:  # fmt: skip
        for i in rows.tolist():
            at = int(begin[i])
            line = data[at : data.index(b"\n", at)]
            parse = self._parsed.get(i) or self.parser.parse(line)
            speaker[i] = self.voices.intern(speaker_of(line, parse))
            time[i], dateless[i] = self._time_of(line, parse)
            told = [line[s.start : s.end] for s in parse.spans if s.field == "iter"]
            mark[i] = int(told[0][:WIDEST]) if told and told[0].isdigit() else UNKNOWN

    def _time_of(self, line: bytes, parse: Parse) -> tuple[int, bool]:
        clock = compile_clock(parse, line)
        if clock is None:
            return NO_TIME, False
        tokens = {s.field: line[s.start : s.end] for s in clock_spans(parse.spans) if s.field in clock.fields}
        numbers = {name: np.array([int(token[:WIDEST])]) for name, token in tokens.items() if token.isdigit()}
        time = int(clock.times(numbers, self.context)[0])
        return time, clock.dateless and time != NO_TIME

    def _cut(self, t: Tidy, size: int, plan: np.ndarray) -> np.ndarray:
        """Flag the last entry of lines whose payload behind the outermost prefix has the launcher's length limit.

        Raw bytes count: the launcher cuts before colours are taken out; `size` is the block's with its last newline.
        """
        first = np.flatnonzero((t.flags & Flag.SEGMENT) == 0)
        last = np.append(first[1:], len(t.begin)) - 1
        lengths = np.diff(np.append(t.begin[first], size)) - 1
        flags = np.zeros(len(t.begin), np.uint16)
        for i in np.flatnonzero(lengths >= self.dialect.piece).tolist():
            spans = self.table.infos[int(plan[first[i]])].parse.spans
            if spans and spans[0].field == "task" and lengths[i] - (spans[0].end + 2) == self.dialect.piece:
                flags[last[i]] = Flag.CUT
        return flags


def _bits(holds: np.ndarray, flag: Flag) -> np.ndarray:
    """Return uint16 with that flag set where it holds."""
    return np.multiply(holds.view(np.uint8), int(flag), dtype=np.uint16)
