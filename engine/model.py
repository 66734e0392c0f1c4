"""The engine's words: small frozen types that every other module speaks in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

UNKNOWN = -1  # any id, rank or number that is not known
NO_TIME = -(2**63)  # int64: a line without a time of its own


class Level(IntEnum):
    """Severity as the line says it; NONE where it says nothing."""

    NONE = 0
    TRACE = 1
    DEBUG = 2
    INFO = 3
    WARNING = 4
    ERROR = 5
    FATAL = 6


class Marker(IntEnum):
    """What an iteration number in a line does to the iteration of the lines around it."""

    NONE = 0
    OPEN = 1  # written at the start of iteration N: later lines are N
    CLOSE = 2  # written at its end: this line is N, later lines are N+1


class LineClass(IntEnum):
    """What a line is to the record it stands in; found once per plan (see records.py)."""

    PLAIN = 0  # text without a header: a record of its own
    HEAD = 1  # a logging header: starts a record
    TRACEBACK = 2  # "Traceback (most recent call last):" and its kin: opens a block
    BODY = 3  # indented or framed: continues whatever its lane has open
    RAISED = 4  # "SomeError: text": ends a traceback's block
    BLANK = 5  # nothing: continues an open block, else a record of its own
    PROGRESS = 6  # a progress bar
    CHAIN = 7  # "During handling of …", "Original Traceback …": what follows belongs to the same block
    FAILED = 8  # a header of level error or above: a traceback right after it is its own
    STAMP = 9  # a time on a line of its own: belongs to the next line
    RULE = 10  # a rule of = or *: frames the table after an exception
    BANNER = 11  # Open MPI's rule of 74 dashes: opens and closes a box
    ANNOUNCE = 12  # "Exception in thread …:": a traceback follows
    ASIDE = 13  # a launcher's own line: a record of its own that interrupts nothing


class Kind(IntEnum):
    """Who a line belongs to; a physical line is counted under exactly one."""

    RANK = 0
    MIXED = 1  # several ranks on one physical line
    LAUNCHER = 2  # launcher, scheduler or kernel: of no rank
    UNKNOWN = 3


class Flag(IntFlag):
    """Bits of an entry (uint16)."""

    SEGMENT = 1  # not the first entry of its physical line
    SPLIT = 2  # its physical line has several entries
    PIECE = 4  # continues its lane's previous, cut line (srun at 1,024 bytes, a torn chunk)
    ODD = 8  # raw bytes differ from tidy text (CR, ESC, NUL): read through tidy.clean
    LOOSE = 16  # offsets of the plan do not hold: parse again to show it
    MARKED = 32  # carries an iteration number of its own
    BACKWARD = 64  # its time is earlier than its lane's previous one
    NOTE = 128  # not in any source: a line of ours (rotation, truncation, lines dropped)
    TIMED = 256  # has a time of its own (the clock column carries the last one)
    CUT = 512  # its payload has the launcher's length limit: the rest follows as a PIECE


class Span(NamedTuple):
    """Where a field stands in a line: half-open byte range of the tidy line.

    Identity fields: mpi_job (1: what mpirun started, 2 and on: what that spawned), task (id given by the launcher: srun
    label, MPI rank), rank (global, written by torch or a template), local_rank, self_rank (what the program says of
    itself), own_device, node, pid, tid, actor, stream, group_rank, attempt.
    Time fields: Y m d H M S f mon ampm epoch epoch_ms zone. Others: level file line func logger iter.
    """

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parse:
    """What the formats read in one line. Spans hold for every line of the same key."""

    formats: tuple[str, ...]  # names, outermost first
    spans: tuple[Span, ...]
    lane_end: int  # end of the launcher's prefixes
    text_at: int  # start of the message
    head: bool = False  # a logging header was read: a record starts here
    level: Level = Level.NONE
    launcher: bool = False  # the launcher's, scheduler's or kernel's own text
    marker: Marker = Marker.NONE
    line_class: LineClass = LineClass.PLAIN
    teaches: bool = False  # the text tells who is where (facts.py reads it)
    habit: str | None = None  # format of a line that one certain process of a job writes (writers.toml)


class SourceName(NamedTuple):
    """Identity that a path tells (filenames.py)."""

    rank: int = UNKNOWN
    local_rank: int = UNKNOWN
    node: str | None = None
    attempt: int = 0
    stream: str | None = None
    group: str | None = None  # the agent, run or step folder that a local rank counts in
    pid: int = UNKNOWN


class Speaker(NamedTuple):
    """Who wrote a line, as the text shows it; nothing here is inferred."""

    source: int
    epoch: int = 0  # restarts seen in this source before the line
    task: int = UNKNOWN
    rank: int = UNKNOWN
    local_rank: int = UNKNOWN
    self_rank: int = UNKNOWN
    node: str | None = None
    pid: int = UNKNOWN
    tid: int = UNKNOWN
    actor: str | None = None
    stream: str | None = None
    attempt: int = UNKNOWN
    launcher: bool = False
    own_device: int = UNKNOWN  # of this process, as the line says
    habit: str | None = None  # as in Parse
    mpi_job: int = UNKNOWN  # whose tasks are counted
    strand: int = UNKNOWN  # text that weaving.py told from what others wrote between: one lane
    thread: int = UNKNOWN  # its part that surely has one writer, whom `Identity.owners` may know


class Place(NamedTuple):
    """Where an entry stands: source index, 1-based physical line, segment from 0."""

    source: int
    line: int
    segment: int
