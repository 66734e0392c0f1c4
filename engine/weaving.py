"""Weaving: which entries of a block belong to which strand, and who wrote lines that only their neighbours name.

The grammar is in strands.py. Beside it: indented lines go on the Ascend error before them; a kernel's assertions are
the one rank's that fails by them; an exception that its process announces at the end; a time on a line of its own is
of the next line; Paddle's launcher shows the log of local rank 0, and the end of the log of the worker that failed; an
exception that only torchrun's agent raises names the traceback above it, and a table of a known form follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from l4tui.engine.model import UNKNOWN, LineClass, Speaker
from l4tui.engine.strands import Register, Strand, Stream, rank_shown, sign_of
from l4tui.engine.trails import OF_AGENT, Trail

MOST_THREADS = 1 << 16  # speakers of a job that they make; past it nothing is woven
MOST_WORDS = 4096  # last messages remembered
LONGEST_TABLE = 1 << 16  # lines of an agent's table; each failed worker may have a traceback in it
LONGEST_RUN = 60  # lines of an exception whose process is named at the end
_PROCESS = re.compile(rb" in proc (\d{1,9})\b")
_WHAT = re.compile(rb"\s*what\(\):\s+(?:\[PG [^\]]*\] ?)?")
_WORKER = re.compile(rb"^Container rank \d+ status failed .*\bworkerlog\.(\d{1,6})\b")


def _among(*kinds: Trail) -> np.ndarray:
    """Return by trail whether it is one of these: a small block's is looked up faster than searched for."""
    out = np.zeros(len(Trail), bool)
    out[list(kinds)] = True
    return out


_TAGGED = _among(Trail.HEAD, Trail.FAILED, Trail.DYING, Trail.CODED, Trail.ASSERTED, Trail.CAUGHT)
_LEADS_ON = _among(Trail.FRAME, Trail.ADVICE)
_GOES_ON = _among(Trail.ADVICE, Trail.RAISED)
_HEADS = frozenset((Trail.HEAD, Trail.FAILED, Trail.DYING))
_LOGGED = frozenset((Trail.CODED, Trail.CAUGHT))  # lines of a logger that its own text goes on
_IN_TABLE = frozenset((*OF_AGENT, Trail.FILE, Trail.CODE, Trail.CARET, Trail.BLANK, Trail.ERROR))
_NAMED = frozenset((Trail.WHAT, Trail.ERROR, Trail.ASSERTED))  # lines whose words may tell their writer

Zone = tuple[int, str | None, int, str | None]
Changes = dict[int, Speaker]


class Loom:
    """One source's strands; goes on from block to block."""

    def __init__(self, register: Register) -> None:
        self.register = register
        self.last: Strand | None = None  # of the last line
        self._streams: dict[Zone, Stream] = {}
        self._words: dict[bytes, Speaker | None] = {}  # a dying process's message → who; None: several
        self._floods: dict[Zone, _Flood] = {}
        self._console = UNKNOWN  # local rank whose log Paddle's launcher shows
        self._failed = UNKNOWN  # the one it will show the end of
        self._tables: dict[Zone, Table] = {}  # of agents that have failed

    def is_idle(self) -> bool:
        """Say whether a block without any such line has nothing to go on."""
        return self.last is None and self._console == UNKNOWN and not self._tables

    def weave(self, block: Block) -> Changes:
        """Return the entries of a block whose speaker is another than their own text shows."""
        changes: Changes = {}
        placed: dict[int, Strand] = {} if self.last is None else {-1: self.last}
        if (block.trail == Trail.CONSOLE).any() or self._console != UNKNOWN:
            self._show(block, changes)
        busy = self.register.made < MOST_THREADS
        for i in block.rows(self.last is not None) if busy else ():
            if i not in changes:
                strand = self._line(i, block, placed, changes)
                if strand is not None:
                    placed[i] = strand
        _forget(placed, changes)
        if self._tables:
            self._tabulate(block, changes)
        self.register.made += len({who.thread for who in changes.values()})
        _stamp(block, changes)
        self.last = placed.get(len(block.trail) - 1)
        return changes

    def _line(self, i: int, block: Block, placed: dict[int, Strand], changes: Changes) -> Strand | None:
        kind, who = Trail(int(block.trail[i])), block.who(i)
        text = block.texts.get(i, b"")
        zone = _zone(who)
        if who.launcher and kind is Trail.ERROR and who.task == UNKNOWN:
            self._agent_failed(i, who, placed)
        if who.launcher or who.task != UNKNOWN or who.actor is not None:
            return None
        if kind in (Trail.ASSERTION, Trail.ASSERTED) or (kind is Trail.DYING and b"device-side assert trig" in text):
            self._flood(kind, zone, i, block, changes)
            if kind is Trail.ASSERTION:
                return None
        if kind in _HEADS or kind in _LOGGED:
            return self._head(kind, who, text, zone)
        plain = block.plain(i)
        if not _is_bare(plain):
            return None
        beside = placed.get(block.before(i))
        if beside is not None and Trail.CODED in beside.states:
            if kind is Trail.CODE and beside.owner is not None:
                changes[i] = beside.owner
                return beside
            beside = None
        if kind is Trail.UNHANDLED:
            self._unhandled(i, text, block, changes)
            return None
        owner = who if kind in _NAMED and rank_shown(who) >= 0 else self._repeated(text) if kind is Trail.WHAT else None
        if kind is Trail.OPEN and beside is not None and Trail.CAUGHT in beside.states:
            owner = beside.owner
        stream = self._stream(zone)
        strand = stream.take(Trail.ERROR if kind is Trail.ASSERTED else kind, text, beside, owner)
        if strand is not None:
            changes[i] = _spoken(plain, strand)
        return strand

    def _agent_failed(self, i: int, agent: Speaker, placed: dict[int, Strand]) -> None:
        """Take up an agent's exception: the traceback that it ends is the agent's, and its table begins."""
        zone = _zone(agent)
        strand = self._stream(zone).take(Trail.ERROR, b"", placed.get(i - 1), None)
        if strand is not None and strand.thread != UNKNOWN and strand.owner is None:
            strand.owner = agent
            self.register.owned.append((strand.thread, agent))
        self._tables[zone] = Table(agent, i + 1)

    def _tabulate(self, block: Block, changes: Changes) -> None:
        """Give the untagged lines of agents' tables to the agents, up to the rule that ends each."""
        for zone, table in list(self._tables.items()):
            for i in block.rows_of_tables(table.at):
                if block.trail[i] not in _IN_TABLE or i in changes or _zone(block.who(i)) != zone:
                    continue
                table.rules += int(block.trail[i] == Trail.RULE)
                table.lines += 1
                if not table.rules or table.lines > LONGEST_TABLE:  # it was none, or its end is lost
                    table.rules = 2
                    break
                changes[i] = table.agent
                if table.rules == 2:
                    break
            table.at = 0
            if table.rules == 2:
                del self._tables[zone]

    def _stream(self, zone: Zone) -> Stream:
        found = self._streams.get(zone)
        if found is None:
            for old in [one for one in self._streams if one[0] < zone[0]]:  # a restart leaves nothing open
                del self._streams[old]
            found = self._streams[zone] = Stream(self.register, zone[2] != UNKNOWN)
        return found

    def _head(self, kind: Trail, who: Speaker, text: bytes, zone: Zone) -> Strand:
        if kind in _LOGGED:
            shown = kind is Trail.CODED or sign_of(who) != UNKNOWN
            return Strand(UNKNOWN, UNKNOWN, frozenset((kind,)), who if shown else None)
        if kind is Trail.DYING and len(self._words) < MOST_WORDS and rank_shown(who) >= 0:
            words = text.strip()
            known = self._words.setdefault(words, who)
            if known is not None and rank_shown(known) != rank_shown(who):
                self._words[words] = None
        return self._stream(zone).head(kind, who)

    def _repeated(self, text: bytes) -> Speaker | None:
        """Return who logged the message that what() repeats, if one did."""
        match = _WHAT.match(text)
        return self._words.get(text[match.end() :].strip()) if match else None

    def _flood(self, kind: Trail, zone: Zone, i: int, block: Block, changes: Changes) -> None:
        flood = self._floods.get(zone)
        if flood is None:
            flood = self._floods[zone] = _Flood(self.register.new())
        if kind is Trail.ASSERTION:
            if _is_bare(block.plain(i)):
                changes[i] = block.plain(i)._replace(thread=flood.thread)
            return
        who = block.who(i)
        owner = flood.blame(who if rank_shown(who) >= 0 else None)
        self.register.owned.append((flood.thread, owner))

    def _unhandled(self, i: int, text: bytes, block: Block, changes: Changes) -> None:
        """Give the lines of an exception to the process that is named behind them, if nobody else's stand between."""
        match = _PROCESS.search(text)
        first = i - 1
        while first >= max(0, i - LONGEST_RUN) and first not in changes and block.is_loose(first):
            if block.trail[first] in (Trail.ERROR, Trail.OPEN):
                break
            first -= 1
        else:
            first = i
        if match is None:
            return
        owner = block.plain(i)._replace(pid=int(match[1]))
        thread = self.register.new()
        self.register.owned.append((thread, owner))
        for row in range(first, i + 1):
            changes[row] = block.plain(row)._replace(thread=thread)

    def _show(self, block: Block, changes: Changes) -> None:
        """Follow what Paddle's launcher shows."""
        begin = 0
        rows = np.flatnonzero(block.trail == Trail.CONSOLE).tolist()
        for end in [*rows, len(block.trail)]:
            for i in range(begin, end) if self._console != UNKNOWN else ():
                who = block.plain(i)
                if not who.launcher and max(who.task, who.local_rank, who.rank, who.self_rank) == UNKNOWN:
                    changes[i] = who._replace(local_rank=self._console)
            begin = end + 1
            if end < len(block.trail):
                self._announce(block.texts.get(end, b""))

    def _announce(self, text: bytes) -> None:
        worker = _WORKER.match(text)
        if worker is not None:
            self._failed = int(worker[1])
        elif text.startswith((b"Run Pod", b"Watching Pod")):
            self._console, self._failed = 0, UNKNOWN
        elif b" ERROR LOG DETAIL " in text:
            self._console = self._failed
        elif not text.startswith(b"Container rank"):
            self._console = UNKNOWN


@dataclass
class Table:
    """What torchrun's agent ends with, as far as it was followed."""

    agent: Speaker
    at: int  # entry of the block from which on its lines stand
    lines: int = 0
    rules: int = 0  # its first line is one, its last is the second


class Block:
    """One block's columns, as the loom reads them."""

    def __init__(
        self, trail: np.ndarray, line_class: np.ndarray, speaker: np.ndarray, lane: Callable[[], np.ndarray],
        speakers: Sequence[Speaker], texts: Mapping[int, bytes], spoken: Mapping[int, int],
    ) -> None:  # fmt: skip
        """Take columns by entry.

        Args:
            speaker: ids into `speakers`; `spoken` holds the former ones of entries whose words tell a rank.
            lane: called if lanes are needed.
            texts: messages of entries whose kind is in `trails.TOLD`.
        """
        self.trail = trail
        self.line_class = line_class
        self.texts = texts
        self._speaker = speaker
        self._lane = lane
        self._speakers = speakers
        self._spoken = spoken
        self._before: np.ndarray | None = None
        stamps = line_class == LineClass.STAMP
        self._stamps = stamps if stamps.any() else None

    def rows(self, goes_on: bool) -> list[int]:
        """Return the entries to weave: untagged ones of some kind, and tagged ones that others may go on.

        `goes_on`: something may be open from the block before.
        """
        trail = self.trail
        keep = (trail > 0) & (trail != Trail.CONSOLE) & (trail < min(OF_AGENT))
        if not goes_on and not _LEADS_ON.take(trail).any():
            keep &= trail != Trail.BLANK
        rows = np.flatnonzero(keep)
        if not len(rows):
            return []
        used, back = np.unique(self._speaker[rows], return_inverse=True)
        who = [self._speakers[one] for one in used.tolist()]
        bare = np.array([_is_bare(one) for one in who], bool)[back]
        seats = any(one.local_rank != UNKNOWN for one in who)
        agent = np.array([one.launcher for one in who], bool)[back] & (trail[rows] == Trail.ERROR)
        kept = bare | agent | _TAGGED.take(trail[rows])
        if not seats:  # a warning is gone on by the very next line or not at all
            after = np.append(trail[1:], Trail.RAISED)[rows]
            kept &= (trail[rows] != Trail.HEAD) | _GOES_ON.take(after)
        opens = np.append(trail[1:], Trail.OPEN)[rows] == Trail.OPEN
        kept &= (trail[rows] != Trail.CAUGHT) | opens
        if self._spoken:
            kept |= np.isin(rows, list(self._spoken))
        return [int(i) for i in rows[kept]]

    def rows_of_tables(self, first: int) -> list[int]:
        """Return the untagged entries from one on that may stand in an agent's table."""
        rows = first + np.flatnonzero(self.trail[first:] > 0)
        used, back = np.unique(self._speaker[rows], return_inverse=True)
        bare = np.array([_is_bare(self._speakers[one]) for one in used.tolist()], bool)[back]
        return [int(i) for i in rows[bare]]

    def who(self, i: int) -> Speaker:
        """Return the speaker of an entry."""
        return self._speakers[int(self._speaker[i])]

    def plain(self, i: int) -> Speaker:
        """Return the speaker of an entry without what its message says."""
        return self._speakers[self._spoken.get(i, int(self._speaker[i]))]

    def is_loose(self, i: int) -> bool:
        """Say whether an entry is untagged text that may go on any message."""
        starts = (LineClass.HEAD, LineClass.FAILED, LineClass.PROGRESS, LineClass.STAMP, LineClass.ASIDE)
        return _is_bare(self.who(i)) and self.line_class[i] not in starts

    def before(self, i: int) -> int:
        """Return the entry before one: in the file, or in its seat's lines; -1 is the last block's last."""
        if self.who(i).local_rank != UNKNOWN:
            if self._before is None:
                self._before = _before(self._lane())
            return int(self._before[i])
        while self._stamps is not None and i > 0 and self._stamps[i - 1]:
            i -= 1
        return i - 1


class _Flood:
    """Assertions of a device, and who failed by them."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self._by: set[int] = set()

    def blame(self, who: Speaker | None) -> Speaker | None:
        """Take up that somebody failed (None: nobody knows who); return the one that did, if only one."""
        self._by.add(UNKNOWN if who is None else rank_shown(who))
        return who if len(self._by) == 1 else None


def _zone(who: Speaker) -> Zone:
    return who.epoch, who.node, who.local_rank, who.stream


def _is_bare(who: Speaker) -> bool:
    told = (who.task, who.rank, who.self_rank, who.pid, who.tid)
    return not who.launcher and who.actor is None and all(number == UNKNOWN for number in told)


def _spoken(plain: Speaker, strand: Strand) -> Speaker:
    """Return the speaker of a strand's line."""
    if strand.thread == UNKNOWN and strand.owner is not None:
        return plain._replace(rank=strand.owner.rank, self_rank=strand.owner.self_rank)
    return plain._replace(strand=strand.lane, thread=strand.thread)


def _forget(placed: dict[int, Strand], changes: Changes) -> None:
    """Leave finished tracebacks that nobody else's text touched and nothing names to the stream's own speaker."""
    for i, strand in placed.items():
        alone = strand.owner is None and strand.lane == UNKNOWN and strand.crowd is None
        if alone and Trail.ERROR in strand.states and i in changes and changes[i].thread == strand.thread:
            del changes[i]


def _stamp(block: Block, changes: Changes) -> None:
    """Give a time on a line of its own to the writer of the next line."""
    for i in np.flatnonzero(block.line_class[:-1] == LineClass.STAMP).tolist():
        if block.line_class[i + 1] != LineClass.STAMP and _is_bare(block.who(i)):
            changes[i] = changes.get(i + 1, block.who(i + 1))


def _before(lane: np.ndarray) -> np.ndarray:
    """Return the entry before each in its lane; -2 for the first."""
    order = np.argsort(lane, kind="stable")
    out = np.full(len(lane), -2, np.int64)
    same = lane[order[1:]] == lane[order[:-1]]
    out[order[1:][same]] = order[:-1][same]
    return out
