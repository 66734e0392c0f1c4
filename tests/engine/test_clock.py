"""Clocks: stamps of every kind to ns UTC, missing years and dates, zones, midnight, offsets between lanes."""

import pickle
import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.clock import DAY, NUMBERS, SECOND, Clock, ClockContext, clock_offsets, compile_clock, date_carry, iso
from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.model import NO_TIME

PARSER = Parser(Dialect())


def ns(text: str) -> int:
    """Return ns of an ISO stamp, UTC where it says nothing."""
    stamp, _, fraction = text.partition(".")
    seconds = int(datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp())
    return seconds * SECOND + int(fraction.ljust(9, "0") or 0)


LATEST = ClockContext(latest_ns=ns("2026-12-01T00:00:00"))
NOTHING = ClockContext()


def read(line: bytes, context: ClockContext = NOTHING) -> int | None:
    """Read one line as the mapper does: numbers by span, the rest from the clock."""
    parse = PARSER.parse(line)
    clock = compile_clock(parse, line)
    if clock is None:
        return None
    numbers = {s.field: np.array([int(line[s.start : s.end])]) for s in parse.spans if s.field in clock.fields}
    return int(clock.times(numbers, context)[0])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"2026-11-29 15:01:30,018 - main - INFO - train.py:55 - x", "2026-11-29T15:01:30.018"),
        (b"[2026-11-29 15:01:30] [INFO] x", "2026-11-29T15:01:30"),
        (b"2026-11-29T15:01:30.000001Z [info     ] x", "2026-11-29T15:01:30.000001"),
        (b"[2026-11-29T15:01:30.5+05:30] x", "2026-11-29T09:31:30.5"),
        (b"[2026-11-29T15:01:30.5-0800] x", "2026-11-29T23:01:30.5"),
        (b"11/29/2026 15:37:16 - INFO - hf - x", "2026-11-29T15:37:16"),
        (b"[W1129 15:28:58.803585501 reducer.cpp:1529] x", "2026-11-29T15:28:58.803585501"),
        (b"[E719 20:08:33.466052377 x.cpp:2271] x", "2026-07-19T20:08:33.466052377"),
        (b"W1231 23:59:59.5 123 train.py:1] x", "2025-12-31T23:59:59.5"),
        (b"Nov  2 15:01:30 n1 kernel: x", "2026-11-02T15:01:30"),
        (b"Sun Nov 29 15:01:29 UTC 2026 starting", "2026-11-29T15:01:29"),
        (b"Sun Nov 29 03:01:29 PM EST 2026 starting", "2026-11-29T20:01:29"),
        (b"Sun Nov 29 12:01:29 AM UTC 2026 starting", "2026-11-29T00:01:29"),
        (b"[11/29/26 15:01:30] INFO     x", "2026-11-29T15:01:30"),
        (b"[1700000000.25] x", "2023-11-14T22:13:20.25"),
        (b'{"ts": "2026-11-29T15:09:24.523Z", "level": "DEBUG", "msg": "x"}', "2026-11-29T15:09:24.523"),
        (b'{"level": "info", "time": 1700000000.25, "msg": "x"}', "2023-11-14T22:13:20.25"),
        (b':::MLLOG {"namespace": "", "time_ms": 1700000000250, "key": "x"}', "2023-11-14T22:13:20.25"),
        (b"[Feb 25 2025 13:59:45] [INFO] [tid 1803] x", "2025-02-25T13:59:45"),
        (b"[ERROR] HCCL(1,p):2025-10-09-18:22:31.514.208 [a.cc:1] x", "2025-10-09T18:22:31.514"),
        (b"W0229 01:00:00.5 123 train.py:1] leap", "2024-02-29T01:00:00.5"),
    ],
)
def test_stamps(line: bytes, expected: str) -> None:
    assert read(line, LATEST) == ns(expected)


@pytest.mark.parametrize(
    "line",
    [
        b"2026-13-29 15:01:30,018 - main - INFO - x",
        b"2026-02-30 15:01:30,018 - main - INFO - x",
        b"2026-00-00 15:01:30 x",
        b"2026-11-29 25:01:30 x",
        b"2026-11-29 15:61:30 x",
        b"W1332 14:56:52.730000 1 train.py:8] x",
        b"Sun Nov 29 13:01:29 PM EST 2026 x",
        b"0001-01-01 00:00:00 x",
        b"9999-12-31 23:59:59 x",
    ],
)
def test_impossible_values_have_no_time(line: bytes) -> None:
    assert read(line, LATEST) == NO_TIME


def test_lines_without_stamp_have_no_clock() -> None:
    assert read(b"no time here") is None
    assert read(b"[812204.003000] pcieport: x") is None


def test_year_is_the_last_that_fits() -> None:
    context = ClockContext(latest_ns=ns("2026-01-02T12:00:00"))
    assert read(b"W1231 23:59:00.5 123 train.py:1] x", context) == ns("2025-12-31T23:59:00.5")
    assert read(b"W0101 00:01:00.5 123 train.py:1] x", context) == ns("2026-01-01T00:01:00.5")
    assert read(b"W0103 11:01:00.5 123 train.py:1] a day ahead", context) == ns("2026-01-03T11:01:00.5")
    assert read(b"W0104 11:01:00.5 123 train.py:1] two days", context) == ns("2025-01-04T11:01:00.5")
    assert read(b"W0101 00:01:00.5 123 train.py:1] x") == NO_TIME


def test_zone_of_stamps_without_one() -> None:
    context = ClockContext(utc_offset_s=3600)
    assert read(b"2026-11-29 15:01:30 x", context) == ns("2026-11-29T14:01:30")
    assert read(b"[2026-11-29T15:01:30Z] x", context) == ns("2026-11-29T15:01:30")


def test_zones_are_read_per_line() -> None:
    clock = Clock(("Y", "m", "d", "H", "M", "S", "zone_h", "zone_m"), zone_sign=-1)
    numbers = {k: np.array([v, v]) for k, v in {"Y": 2026, "m": 11, "d": 1, "H": 1, "M": 0, "S": 0}.items()}
    numbers |= {"zone_h": np.array([7, 8]), "zone_m": np.array([0, 30])}
    assert clock.times(numbers, ClockContext()).tolist() == [ns("2026-11-01T08:00:00"), ns("2026-11-01T09:30:00")]


def test_of_two_clocks_the_full_one_counts() -> None:
    line = b"15:01:30 INFO [2026-11-29 15:01:31,250] [INFO] x"
    assert read(line) == ns("2026-11-29T15:01:31.25")


def test_dates_carry_over_midnight() -> None:
    hour = 3600 * SECOND
    midnight = ns("2026-11-29T00:00:00")
    times = np.array([22 * hour, 23 * hour, NO_TIME, 1 * hour, 23 * hour, 2 * hour])
    carried = date_carry(times, midnight + 21 * hour)
    hours = [22, 23, None, 25, 23, 26]
    assert carried.tolist() == [NO_TIME if h is None else midnight + h * hour for h in hours]
    assert date_carry(times, NO_TIME).tolist() == [NO_TIME] * 6


def test_dates_come_from_dated_lines_between() -> None:
    hour = 3600 * SECOND
    day = ns("2026-11-29T00:00:00")
    times = np.array([5 * hour, day + 6 * hour, 7 * hour, day + 40 * hour, 17 * hour])
    dateless = np.array([True, False, True, False, True])
    assert date_carry(times, NO_TIME, dateless).tolist() == [
        NO_TIME, day + 6 * hour, day + 7 * hour, day + 40 * hour, day + 41 * hour,
    ]  # fmt: skip


@given(st.lists(st.integers(0, 20 * 3600), min_size=1, max_size=40), st.integers(0, 40))
def test_dates_do_not_depend_on_blocks(steps: list[int], cut: int) -> None:
    times = (np.cumsum(np.array(steps) % (11 * 3600)) * SECOND) % DAY
    start = ns("2026-11-29T00:00:00")
    whole = date_carry(times, start)
    cut = min(cut, len(times))
    head = date_carry(times[:cut], start)
    tail = date_carry(times[cut:], int(head[-1]) if cut else start)
    assert np.concatenate([head, tail]).tolist() == whole.tolist()
    assert (np.diff(whole) >= 0).all()


@given(st.dictionaries(st.sampled_from(sorted(NUMBERS)), st.integers(-(2**62), 2**62), min_size=1))
def test_no_numbers_break_a_clock(values: dict[str, int]) -> None:
    clock = Clock(tuple(sorted(values)), width=9)
    with np.errstate(over="ignore"):
        times = clock.times({name: np.array([v]) for name, v in values.items()}, LATEST)
    assert times.shape == (1,)


@given(st.integers(ns("1971-01-01T00:00:00"), ns("2260-01-01T00:00:00")))
def test_iso_reads_back(time: int) -> None:
    text = iso(time, 9)
    assert text is not None and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", text)
    assert ns(text[:-1]) == time


def test_iso() -> None:
    assert iso(ns("2026-11-29T15:01:30.018"), 3) == "2026-11-29T15:01:30.018Z"
    assert iso(ns("2026-11-29T15:01:30.018"), 0) == "2026-11-29T15:01:30Z"
    assert iso(NO_TIME) is None


def test_offsets_of_lanes() -> None:
    rng = np.random.default_rng(7)
    lanes, iterations = np.meshgrid(np.arange(8), np.arange(40))
    skew = np.array([0, 0, 0, 5 * SECOND, 0, 0, -2 * SECOND, 0])
    times = iterations * SECOND + skew[lanes] + rng.integers(0, 10_000_000, lanes.shape)
    late = iterations == 13
    times[late & (lanes == 1)] += 60 * SECOND  # one slow step is no clock
    found = clock_offsets(times.ravel(), lanes.ravel(), np.zeros(lanes.size, np.int64), iterations.ravel())
    assert np.abs(found.offset_ns - skew).max() < 20_000_000
    assert found.lines.tolist() == [40] * 8


def test_offsets_of_one_lane_are_nothing() -> None:
    one = clock_offsets(np.array([5, 6]), np.array([3, 3]), np.array([0, 0]), np.array([1, 2]))
    assert one.offset_ns.tolist() == [0]


def test_the_newest_time_is_asked_for_once_and_only_by_stamps_that_lack_a_year() -> None:
    asked: list[int] = []

    def newest() -> int:
        asked.append(1)
        return ns("2026-12-01T00:00:00")

    context = ClockContext(newest)
    assert read(b"2026-11-29 10:00:00 hello", context) == ns("2026-11-29T10:00:00")
    assert not asked
    assert read(b"Nov 29 10:00:00 node7 app: hello", context) == ns("2026-11-29T10:00:00")
    assert pickle.loads(pickle.dumps(context)).latest_ns == context.latest_ns == ns("2026-12-01T00:00:00")
    assert len(asked) == 1
