"""Map: a block of whole lines to columns, with no Python code per line but for lines never seen before.

A mapper belongs to one dialect and remembers plans and speakers across blocks. It knows nothing of other blocks' lines:
the merge (merger.py) carries records, iterations and dates from one to the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from l4tui.engine.clock import ClockContext, clock_spans, compile_clock
from l4tui.engine.facts import teaches
from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.keys import DIGITS_TO_ZERO, LONGEST_KEY, PLACEHOLDER, collapse, key_of, volatile_key
from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Parse, Speaker
from l4tui.engine.plans import ITER, NAMES, SITE, TIME, TIME_AT, WIDEST, PlanInfo, Plans
from l4tui.engine.records import classify
from l4tui.engine.tidy import Tidy, tidy
from l4tui.engine.trails import Trail

MOST_KEYS = 1 << 17  # keys remembered, each level; past it new lines share plans by their first words
MOST_CROWDS = 1 << 12
NEAR = 200  # lines between a traceback's line and text that may belong to it
SMALL = 4096  # identity numbers below it are looked up in a table
MOST_ITERATION = 2**31 - 2  # the column holds int32; a number above it counts something else

_ZEROS = np.array([48 * (10**n - 1) // 9 for n in range(WIDEST + 1)], np.int64)
_TEXT = {"mpi_job", "task", "rank", "local_rank", "self_rank", "own_device", "pid", "tid", "attempt"}


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


class Numbering:
    """Numbers ids in the order in which they first occur, so that any cut into ranges numbers alike."""

    def __init__(self) -> None:
        self._of = np.full(1024, UNKNOWN, np.int32)
        self.count = 0

    def of(self, ids: np.ndarray, size: int) -> tuple[np.ndarray, list[int]]:
        """Return the numbers of ids below `size`, and the ids that are new, by number."""
        if size > len(self._of):
            more = max(size - len(self._of), len(self._of))
            self._of = np.concatenate((self._of, np.full(more, UNKNOWN, np.int32)))
        out = self._of[ids]
        if not len(out) or out.min() >= 0:
            return out, []
        new = first_seen(ids[out < 0])
        self._of[new] = np.arange(self.count, self.count + len(new))
        self.count += len(new)
        return self._of[ids], new.tolist()


def first_seen(ids: np.ndarray) -> np.ndarray:
    """Return the different ids in the order of their first occurrence."""
    used, first = np.unique(ids, return_index=True)
    return used[np.argsort(first)]


class Mapper:
    """Reads blocks of one dialect."""

    def __init__(self, parser: Parser, dialect: Dialect) -> None:
        self.parser = parser
        self.dialect = dialect
        self.context = ClockContext()
        self.table = Plans()
        self.voices: dict[Speaker, int] = {}
        self._voice_list: list[Speaker] = []
        self._keys: dict[bytes, int] = {}
        self._masked: dict[bytes, int] = {}
        self._crowd: dict[bytes, int] = {}  # plans shared by first words once the others are full
        self._sites: dict[tuple[int, int], int] = {}
        self._small = np.full((64, SMALL), UNKNOWN, np.int32)  # (identity, number) → speaker
        self._numbered: dict[tuple[int, ...], int] = {}
        self._plan_numbers = Numbering()
        self._voice_numbers = Numbering()

    def map(self, block: bytes, context: ClockContext) -> Part:
        """Map a block of whole lines (the last one may lack its newline); the context dates its clocks."""
        self.context = context
        t = tidy(block, self.dialect)
        keys, begin = self._split(t)
        plan = self._plan_of(t, keys, begin)
        raw = np.frombuffer(t.data, np.uint8)
        flags = t.flags
        loose = self.table.loose[plan]
        speaker = self._speakers(raw, t.data, begin, plan)
        plan = self._sited(raw, begin, plan)
        mark = self._numbers(raw, begin, plan, ITER, UNKNOWN)
        time, dateless = self._times(raw, begin, plan)
        if loose.any():
            flags = flags | np.where(loose, np.uint16(Flag.LOOSE), np.uint16(0))
            self._read_loose(t.data, begin, np.flatnonzero(loose), speaker, time, dateless, mark)
        mark[mark > MOST_ITERATION] = UNKNOWN
        flags = flags | np.where(time != NO_TIME, np.uint16(Flag.TIMED), np.uint16(0))
        flags |= np.where(mark >= 0, np.uint16(Flag.MARKED), np.uint16(0))
        if self.dialect.piece:
            flags |= self._cut(t, len(block) + (not block.endswith(b"\n")), plan)
        plans, new_plans = self._plan_numbers.of(plan, len(self.table))
        speakers, new_voices = self._voice_numbers.of(speaker, len(self._voice_list))
        return Part(
            t.begin, plans, speakers, time, dateless, mark, flags, len(block),
            len(t.begin) - int(np.count_nonzero(flags & Flag.SEGMENT)),
            [self.table.infos[p] for p in new_plans], [self._voice_list[v] for v in new_voices],
            self._taught(t.data, begin, plan, speaker), self._woven(t.data, begin, plan),
        )  # fmt: skip

    # keys

    def _split(self, t: Tidy) -> tuple[list[bytes], np.ndarray]:
        """Return the key of every entry and where it begins in the tidy data."""
        keys = t.data.translate(DIGITS_TO_ZERO).split(b"\n")
        keys.pop()
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))
        begin = np.empty(len(keys), np.int64)
        if len(keys):
            begin[0] = 0
            np.cumsum(lengths[:-1] + 1, out=begin[1:])
        return keys, begin

    def _plan_of(self, t: Tidy, keys: list[bytes], begin: np.ndarray) -> np.ndarray:
        ids = list(map(self._keys.get, keys))
        if None in ids:
            starts = begin.tolist()
            for i, known in enumerate(ids):
                if known is None:
                    ids[i] = self._miss(t.data[starts[i] : starts[i] + len(keys[i])], keys[i])
        return np.array(ids, np.int32)

    def _miss(self, line: bytes, key: bytes) -> int:
        found = self._keys.get(key)  # seen earlier in this block
        if found is not None:
            return found
        masked, holds_to = volatile_key(line)
        if len(line) > LONGEST_KEY and holds_to < 0:
            holds_to = LONGEST_KEY
        found = self._masked.get(masked)
        if found is None:
            found = self._new_plan(line, masked, holds_to)
        if holds_to < 0 and len(self._keys) < MOST_KEYS:
            self._keys[key] = found
        return found

    def _new_plan(self, line: bytes, masked: bytes, holds_to: int) -> int:
        parse = self.parser.parse(line)
        if not parse.teaches and teaches(line[parse.text_at :]):
            parse = replace(parse, teaches=True)
        if len(self._masked) < MOST_KEYS:
            line_class = classify(line[parse.text_at :], parse)
            plan = self.table.add(line, masked, key_of(line[parse.text_at :]), parse, line_class, holds_to)
            self._masked[masked] = plan
            return plan
        words = line[parse.text_at : parse.text_at + 200].split(None, 2)[:2]
        message = collapse(key_of(b" ".join(words)))
        crowd = collapse(key_of(line[: parse.text_at])) + message
        if crowd not in self._crowd and len(self._crowd) >= MOST_CROWDS:
            crowd = message = b""
        found = self._crowd.get(crowd)
        if found is None:
            line_class = classify(line[parse.text_at :], parse)
            found = self._crowd[crowd] = self.table.add(
                line, PLACEHOLDER + crowd, message, parse, line_class, 0
            )
        return found

    # fields

    def _numbers(self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray, slot: int, missing: int) -> np.ndarray:
        """Read one field of every line; int64, `missing` where the plan has no such field."""
        width = self.table.width[plan, slot]
        widest = int(width.max(initial=0))
        if not widest:
            return np.full(len(plan), missing, np.int64)
        at = begin + self.table.at[plan, slot]
        surely = int(width.min(initial=0))
        value: np.ndarray = np.zeros(len(at), np.int32 if widest <= 8 else np.int64)
        for j in range(widest):  # as if "0" were worth 48; taken off below
            digit = raw[j:].take(at, mode="clip")
            if j < surely:
                value *= 10
                value += digit
            else:
                value = np.where(j < width, value * 10 + digit, value)
        value = value - _ZEROS[width]
        if not surely:
            value[width == 0] = missing
        return value

    def _sited(self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """Give lines whose call site has another line number than their plan a plan of their own."""
        wanted = self.table.site_line[plan]
        if not (wanted >= 0).any():
            return plan
        line = self._numbers(raw, begin, plan, SITE, UNKNOWN)
        other = np.flatnonzero((wanted >= 0) & (line != wanted))
        if not len(other):
            return plan
        plan = plan.copy()
        for i in other.tolist():
            pair = (int(plan[i]), int(line[i]))
            known = self._sites.get(pair)
            if known is None:
                known = pair[0]
                if len(self._sites) < MOST_KEYS and 0 <= pair[1] < 1 << 30:
                    known = self._sites[pair] = self.table.variant(*pair)
            plan[i] = known
        return plan

    def _times(self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        time = np.full(len(plan), NO_TIME, np.int64)
        dateless = np.zeros(len(plan), bool)
        clock = self.table.clock[plan]
        for c in np.unique(clock).tolist():
            if c < 0:
                continue
            kind = self.table.clocks[c]
            rows = np.flatnonzero(clock == c)
            at, plans = begin[rows], plan[rows]
            numbers = {
                name: self._numbers(raw, at, plans, TIME_AT + k, 0)
                for k, name in enumerate(TIME)
                if name in kind.fields
            }
            time[rows] = kind.times(numbers, self.context)
            dateless[rows] = kind.dateless
        return time, dateless & (time != NO_TIME)

    # speakers

    def _speakers(self, raw: np.ndarray, data: bytes, begin: np.ndarray, plan: np.ndarray) -> np.ndarray:
        identity, count = self.table.identity[plan], self.table.numbers[plan]
        while identity.max(initial=0) >= len(self._small):
            self._small = np.vstack([self._small, np.full_like(self._small, UNKNOWN)])
        number = self._numbers(raw, begin, plan, 0, 0)
        small = (count <= 1) & (number < SMALL)
        speaker = np.where(small, self._small[identity, np.where(small, number, 0)], UNKNOWN).astype(np.int32)
        for i in np.flatnonzero(small & (speaker < 0)).tolist():
            if self._small[identity[i], number[i]] < 0:
                self._small[identity[i], number[i]] = self._voice(data, int(begin[i]), int(plan[i]))
            speaker[i] = self._small[identity[i], number[i]]
        rows = np.flatnonzero(~small)
        if len(rows):
            speaker[rows] = self._many_numbered(raw, data, begin[rows], plan[rows], identity[rows])
        return speaker

    def _many_numbered(
        self, raw: np.ndarray, data: bytes, begin: np.ndarray, plan: np.ndarray, identity: np.ndarray
    ) -> np.ndarray:
        """Intern speakers with several identity numbers (host:pid:tid …)."""
        most = int(self.table.numbers[plan].max(initial=0))
        columns = [identity.astype(np.int64)]
        columns += [self._numbers(raw, begin, plan, slot, UNKNOWN) for slot in range(min(most, ITER))]
        mixed = np.zeros(len(plan), np.uint64)
        for column in columns:
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        _, first, back = np.unique(mixed, return_index=True, return_inverse=True)
        ids = np.empty(len(first), np.int32)
        for u, i in enumerate(first.tolist()):
            numbers = tuple(int(column[i]) for column in columns)
            known = self._numbered.get(numbers)
            if known is None:
                known = self._numbered[numbers] = self._voice(data, int(begin[i]), int(plan[i]))
            ids[u] = known
        return ids[back]

    def _voice(self, data: bytes, at: int, plan: int) -> int:
        line = data[at : data.index(b"\n", at)]
        info = self.table.infos[plan]
        return self._intern(_speaker(line, info.parse))

    def _intern(self, voice: Speaker) -> int:
        known = self.voices.get(voice)
        if known is None:
            known = self.voices[voice] = len(self._voice_list)
            self._voice_list.append(voice)
        return known

    # lines that are read one by one

    def _read_loose(
        self, data: bytes, begin: np.ndarray, rows: np.ndarray,
        speaker: np.ndarray, time: np.ndarray, dateless: np.ndarray, mark: np.ndarray,
    ) -> None:  # fmt: skip
        for i in rows.tolist():
            at = int(begin[i])
            line = data[at : data.index(b"\n", at)]
            parse = self.parser.parse(line)
            speaker[i] = self._intern(_speaker(line, parse))
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

    def _taught(self, data: bytes, begin: np.ndarray, plan: np.ndarray, speaker: np.ndarray) -> list[tuple[int, bytes]]:
        """Return each different telling line once per speaker; untagged ones each time, for they tell their writer."""
        out: list[tuple[int, bytes]] = []
        known: set[tuple[int, bytes]] = set()
        for i in np.flatnonzero(self.table.teaches[plan]).tolist():
            at = int(begin[i])
            parse = self.table.infos[int(plan[i])].parse
            text = data[at + parse.text_at : data.index(b"\n", at)][:LONGEST_KEY]
            told = (int(speaker[i]), text)
            if told not in known or NAMES.isdisjoint(span.field for span in parse.spans):
                known.add(told)
                out.append((i, text))
        return out

    def _woven(self, data: bytes, begin: np.ndarray, plan: np.ndarray) -> list[tuple[int, bytes]]:
        """Return the lines that weaving reads; indented text only near a traceback, or where one may have begun."""
        told = self.table.told[plan]
        if not told.any():
            return []
        index = np.arange(len(told))
        near = np.maximum.accumulate(np.where((told > 0) & (told != Trail.CODE), index, 0))
        out = []
        for i in np.flatnonzero((told > 0) & ((told != Trail.CODE) | (index - near < NEAR))).tolist():
            at = int(begin[i])
            text_at = at + self.table.infos[int(plan[i])].parse.text_at
            out.append((i, data[text_at : min(data.index(b"\n", at), text_at + LONGEST_KEY)]))
        return out


def _speaker(line: bytes, parse: Parse) -> Speaker:
    """Return who wrote a line as its text shows it."""
    fields: dict[str, int | str] = {}
    for span in parse.spans:
        token = line[span.start : span.end]
        if span.field in _TEXT:
            if token.isdigit():
                fields.setdefault(span.field, int(token[:WIDEST]))
        elif span.field in ("node", "actor", "stream"):
            fields.setdefault(span.field, token.decode("utf-8", "replace"))
    return Speaker(0, launcher=parse.launcher, habit=parse.habit, **fields)  # type: ignore[arg-type]
