"""Strands: texts of several processes, printed line by line into one stream, told from each other.

Each process prints its text in a known order, so a line can only go on a text that waits for such a line:

- one text waits: the line is its;
- several wait: the line is one of theirs, and nobody can tell whose. All of them get a new `thread` there: a part of
  the text that surely has one writer. What names the writer later (the exception's own words, what() that repeats a
  tagged message) names it for the whole thread; where the writers are known and all but one have found their threads,
  the last one has, too;
- a line of source code is always the same under one file and line, which parts texts that wait at different places.

A c10 message is written at one go and its tag stands on its first line only, so an untagged line right behind a tagged
one goes on that message, if no other text waits for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from l4tui.engine.model import UNKNOWN, Speaker
from l4tui.engine.trails import Trail

MOST_STRANDS = 1024  # open at once in one stream; past it nobody can tell them apart
MOST_MIXED = 1 << 22  # strands that have begun new threads in one stream, counted each time; some seconds
MOST_CODES = 1 << 14  # source lines remembered
_NUMBER = re.compile(rb"frame #(\d{1,4}): ?(.{0,400}?)(?: \+ 0x[0-9a-f]+ \(0x[0-9a-f]+ in (.{0,400})\))?$")

# kind of a line → states of the texts that wait for it, and states of those that may take it if none does
_WAITS: dict[Trail, tuple[frozenset[Trail], frozenset[Trail]]] = {
    kind: (frozenset(first), frozenset(second))
    for kind, first, second in (
        (Trail.ADVICE, (Trail.DYING, Trail.ADVICE), ()),
        (Trail.RAISED, (Trail.DYING, Trail.ADVICE), ()),
        (Trail.FRAME, (Trail.RAISED, Trail.FRAME), ()),
        (Trail.TERMINATE, (Trail.FRAME, Trail.BLANK, Trail.DYING), ()),
        (Trail.WHAT, (Trail.TERMINATE,), ()),
        (Trail.FATAL, (Trail.TERMINATE, Trail.WHAT), ()),
        (Trail.STACK, (Trail.FATAL,), ()),
        (Trail.FILE, (Trail.OPEN, Trail.CODE, Trail.CARET, Trail.STACK), ()),
        (Trail.CODE, (Trail.FILE,), ()),
        (Trail.CARET, (Trail.CODE,), (Trail.CARET,)),
        (Trail.ERROR, (Trail.CODE, Trail.CARET), (Trail.OPEN,)),
    )
}
# kind of a line that may stand right behind a text whose last line was of one of these kinds
_BEHIND = {
    Trail.ADVICE: frozenset((Trail.HEAD, Trail.FAILED, Trail.ADVICE, Trail.WHAT, Trail.ERROR)),
    Trail.RAISED: frozenset((Trail.HEAD, Trail.FAILED, Trail.ADVICE, Trail.WHAT)),
    Trail.TERMINATE: frozenset((Trail.FAILED,)),
}
_ADVICE, _FRAME = frozenset((Trail.ADVICE,)), frozenset((Trail.FRAME,))
STALE = 2000  # lines of such texts, after which one that was not gone on is given up
_SOURCE = frozenset((Trail.CODE, Trail.CARET))
_STARTS = frozenset((Trail.OPEN, Trail.TERMINATE, Trail.WHAT, Trail.FATAL))


@dataclass(slots=True, eq=False)
class Strand:
    """One process's text, as far as it was followed."""

    lane: int  # UNKNOWN: the stream's own
    thread: int
    states: frozenset[Trail]  # kind of its last line; several where it may have been another's
    owner: Speaker | None = None
    frame: int = 0  # number of the next one; UNKNOWN where it may be any
    file: bytes = b""  # last FILE line, or function of the last frame; empty where it may have been another's
    code: bytes = b""  # last CODE line, as it stood there
    crowd: Crowd | None = None
    dying: bool = False  # "terminate called" follows
    at: int = 0  # the stream's count when it was gone on


@dataclass(slots=True, eq=False)
class Crowd:
    """Threads that began at one line, each of another writer; `writers` is None where they may be anybody."""

    strands: list[Strand]
    writers: dict[int, Speaker] | None


@dataclass(slots=True)
class Register:
    """What the streams of a source share, and the news they have."""

    next: int = 0  # number of the next thread or lane
    made: int = 0  # threads that became speakers
    codes: dict[bytes, bytes] = field(default_factory=dict)  # file, line and function → source line
    owned: list[tuple[int, Speaker | None]] = field(default_factory=list)  # thread → its writer
    inner: set[bytes] = field(default_factory=set)  # functions that have callers: a stack does not end with them

    def new(self) -> int:
        """Return a number not used before."""
        self.next += 1
        return self.next - 1


def rank_shown(who: Speaker) -> int:
    """Return the rank that a line shows, by tag or by its own words."""
    return who.rank if who.rank >= 0 else who.self_rank


def sign_of(who: Speaker) -> int:
    """Return what tells a writer from others: the rank it shows, else its process (below UNKNOWN), else UNKNOWN."""
    rank = rank_shown(who)
    return rank if rank >= 0 or who.pid == UNKNOWN else UNKNOWN - 1 - who.pid


class Stream:
    """Lines that nothing but their form tells apart."""

    def __init__(self, register: Register, is_seat: bool) -> None:
        """Open a stream; `is_seat`: all of its writers have one local rank, each on another node."""
        self._register = register
        self._is_seat = is_seat
        self._open: list[Strand] = []
        self._heads: dict[int, Strand] = {}  # the last error of a rank that has nothing open
        self._ranks: set[int] = set()  # that may have something open
        self._count = 0
        self._mixed = 0
        self._is_muddled = False

    def head(self, kind: Trail, owner: Speaker) -> Strand:
        """Take a tagged line; its strand waits for what may stand behind it."""
        rank = rank_shown(owner)
        strand = Strand(UNKNOWN, UNKNOWN, frozenset((kind,)), owner, dying=kind is Trail.DYING)
        if rank < 0:
            return strand
        some = self._open if rank in self._ranks else []
        mine = [one for one in some if one.owner is not None and rank_shown(one.owner) == rank]
        for one in mine:
            if strand.dying or not one.dying:  # its message is over
                self._open.remove(one)
        if not mine:
            self._ranks.discard(rank)
        if strand.dying:
            self._heads.pop(rank, None)
            self._put(strand)
        elif kind is Trail.FAILED and not any(one.dying for one in mine):
            self._heads[rank] = strand
        return strand

    def take(self, kind: Trail, text: bytes, beside: Strand | None, owner: Speaker | None) -> Strand | None:
        """Give a line to its text; None where it is nobody's.

        Args:
            beside: of the line just before it.
            owner: whom the line itself names as its writer.
        """
        if self._is_muddled:
            return None
        self._count += 1
        if kind is Trail.BLANK:
            return self._pause(beside)
        if kind is Trail.OPEN:
            return self._start(kind, owner)
        waiting = [one for one in self._waiting(kind, text, beside) if _may_be(one, owner)]
        if not waiting:
            return self._start(kind, owner) if kind in _STARTS else None
        if kind is Trail.CODE and len(self._register.codes) < MOST_CODES:
            files = {one.file for one in waiting}
            if _are(waiting, Trail.FILE) and len(files) == 1 and b"" not in files:
                self._register.codes.setdefault(waiting[0].file, text)
        if kind is Trail.FRAME and len({one.file for one in waiting}) == 1 and _are(waiting, Trail.FRAME):
            self._register.inner.add(waiting[0].file)
        strand = waiting[0] if len(waiting) == 1 else self._mix(waiting, beside)
        if owner is not None:
            self._resolve(strand, owner)
        self._advance(strand, kind, text)
        return strand

    def _pause(self, beside: Strand | None) -> Strand | None:
        """Take a blank line: it is of the message that it ends."""
        if beside is None or beside.states not in (_ADVICE, _FRAME):
            return None
        if any(Trail.FRAME in one.states and self._may_end(one) for one in self._open if one is not beside):
            return None
        if beside.states == _FRAME:
            beside.states = frozenset((Trail.BLANK,))
            if not beside.dying and beside in self._open:
                self._open.remove(beside)
        return beside

    def _start(self, kind: Trail, owner: Speaker | None) -> Strand:
        taken = any(one.lane == UNKNOWN and one.thread != UNKNOWN for one in self._open)
        lane = self._register.new() if taken else UNKNOWN
        strand = Strand(lane, self._register.new(), frozenset((kind,)), at=self._count)
        if owner is not None:
            self._resolve(strand, owner)
        self._put(strand)
        return strand

    def _put(self, strand: Strand) -> None:
        if len(self._open) >= MOST_STRANDS:
            self._is_muddled = True
            self._open.clear()
        strand.at = self._count
        self._open.append(strand)
        if strand.owner is not None:
            self._ranks.add(rank_shown(strand.owner))

    def _waiting(self, kind: Trail, text: bytes, beside: Strand | None) -> list[Strand]:
        first, second = _WAITS[kind]
        if any(self._count - one.at > STALE for one in self._open):
            self._open = [one for one in self._open if self._count - one.at <= STALE]
        found = [one for one in self._open if one.states & first]
        if kind in (Trail.FILE, Trail.ERROR):
            found += [one for one in self._open if self._lacks_source(one) and one not in found]
        if not any(one.states <= first for one in found):
            found += [one for one in self._open if one.states & second and one not in found]
        if kind is Trail.FRAME:
            match = _NUMBER.match(text)
            number = int(match[1]) if match else 0
            return [one for one in found if one.frame in (number, UNKNOWN)]
        if kind is Trail.CODE:
            return self._coded(found, text, beside)
        if kind is Trail.TERMINATE:
            found = [one for one in found if one.dying and (Trail.FRAME not in one.states or self._may_end(one))]
        if kind in _BEHIND:
            self._add_heads(kind, found, beside)
        return found

    def _coded(self, found: list[Strand], text: bytes, beside: Strand | None) -> list[Strand]:
        """Return the strands that wait for this source line; a statement may have several lines."""
        if text[4:5] == b" ":  # not a statement's first line
            return [one for one in self._open if one.states & _SOURCE]
        if text[4:5] in (b")", b"]", b"}"):
            return found + [one for one in self._open if Trail.CODE in one.states and one not in found]
        known = self._register.codes
        found = [one for one in found if known.get(one.file, text) == text]
        if beside is None or beside in found or beside not in self._open or Trail.CODE not in beside.states:
            return found
        if beside.code != text and not any(known.get(one.file) == text for one in found):
            found.append(beside)  # a line like the one before is rather another process's
        return found

    def _lacks_source(self, strand: Strand) -> bool:
        """Say whether a strand may stand at a frame whose source line is not shown."""
        return Trail.FILE in strand.states and strand.file not in self._register.codes

    def _may_end(self, strand: Strand) -> bool:
        """Say whether the last frame of a strand may be a stack's last."""
        return strand.file not in self._register.inner or not strand.file

    def _add_heads(self, kind: Trail, found: list[Strand], beside: Strand | None) -> None:
        """Add the text just before a line, if it can go on; for lines of one seat, earlier errors of its ranks, too."""
        if kind is Trail.TERMINATE and self._is_seat:
            found += [head for head in self._heads.values() if head not in found]
        if beside is not None and beside not in found and beside.states <= _BEHIND[kind]:
            found.append(beside)

    def _mix(self, waiting: list[Strand], beside: Strand | None) -> Strand:
        """Begin new threads, one of which has the line."""
        self._mixed += len(waiting)
        self._is_muddled = self._is_muddled or self._mixed > MOST_MIXED
        writers: dict[int, Speaker] | None = {}
        for one in waiting:
            if one.crowd is not None and one in one.crowd.strands and one.owner is None:
                known = one.crowd.writers
                one.crowd.strands.remove(one)
                one.crowd.writers = None  # who is left there cannot be told by elimination
            else:
                known = None if one.owner is None else {sign_of(one.owner): one.owner}
            writers = None if writers is None or known is None else writers | known
        crowd = Crowd(list(waiting), writers)
        states = frozenset().union(*(one.states for one in waiting))
        file = waiting[0].file if len({one.file for one in waiting}) == 1 else b""
        frame = waiting[0].frame if len({one.frame for one in waiting}) == 1 else UNKNOWN
        dying = any(one.dying for one in waiting)
        for one in waiting:
            one.states, one.file, one.frame, one.dying = states, file, frame, dying
            if one.thread == UNKNOWN:  # it was in its writer's lane
                one.lane = self._register.new()
            one.thread, one.owner, one.crowd = self._register.new(), None, crowd
        return beside if beside is not None and beside in waiting else waiting[0]

    def _resolve(self, strand: Strand, owner: Speaker) -> None:
        """Name a thread's writer; who is left alone with one writer is named, too."""
        if strand.owner is not None:
            return
        strand.owner = owner
        self._ranks.add(rank_shown(owner))
        self._register.owned.append((strand.thread, owner))
        crowd, strand.crowd = strand.crowd, None
        if crowd is None or strand not in crowd.strands:
            return
        crowd.strands.remove(strand)
        if crowd.writers is None:
            return
        crowd.writers.pop(sign_of(owner), None)
        if len(crowd.strands) == 1 and len(crowd.writers) == 1:
            self._resolve(crowd.strands[0], next(iter(crowd.writers.values())))

    def _advance(self, strand: Strand, kind: Trail, text: bytes) -> None:
        if strand not in self._open and Trail.ERROR not in strand.states:
            if strand.owner is not None:
                self._heads.pop(rank_shown(strand.owner), None)
            self._put(strand)
        strand.at = self._count
        if kind is Trail.FRAME:
            match = _NUMBER.match(text)
            strand.frame = int(match[1]) + 1 if match else UNKNOWN
            strand.file = match[2] + (match[3] or b"") if match else b""
        elif kind is Trail.RAISED:
            strand.frame = 0
        elif kind is Trail.FILE:
            strand.file = text
        elif kind is Trail.CODE:
            strand.code = text
        elif kind is Trail.TERMINATE:
            strand.dying = False
        elif kind is Trail.ERROR:
            self._open.remove(strand)
        if Trail.ERROR not in strand.states:  # advice behind an exception begins no message
            strand.states = frozenset((kind,))


def _are(strands: list[Strand], state: Trail) -> bool:
    """Say whether all strands surely stand at a line of that kind."""
    return all(one.states == {state} for one in strands)


def _may_be(strand: Strand, owner: Speaker | None) -> bool:
    """Say whether a strand may be that writer's."""
    if owner is None:
        return True
    sign = sign_of(owner)
    if strand.owner is not None:
        return _are_one(sign_of(strand.owner), sign)
    crowd = strand.crowd
    return crowd is None or crowd.writers is None or any(_are_one(sign, one) for one in crowd.writers)


def _are_one(sign: int, other: int) -> bool:
    """Say whether two signs may be one writer's: a process and a rank may."""
    return sign == other or min(sign, other) < UNKNOWN <= max(sign, other)
