"""Moments as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from l4tui.engine.moments import parse_moment, utc_offset

S = 10**9


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * S


FIRST, LAST = ns("2026-03-01T22:00:00"), ns("2026-03-02T10:00:00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("09:30", ns("2026-03-02T09:30:00")),
        ("9:30:15", ns("2026-03-02T09:30:15")),
        ("23:15", ns("2026-03-01T23:15:00")),
        ("09:30:15.25", ns("2026-03-02T09:30:15") + S // 4),
        ("2026-03-01", ns("2026-03-01T00:00:00")),
        ("2026-03-01T23:00", ns("2026-03-01T23:00:00")),
        ("2026-03-01 23:00:00.5", ns("2026-03-01T23:00:00") + S // 2),
        ("2026-03-02T01:00+02:00", ns("2026-03-01T23:00:00")),
        ("-10m", ns("2026-03-02T09:50:00")),
        ("-1h30m", ns("2026-03-02T08:30:00")),
        ("+5m", ns("2026-03-01T22:05:00")),
        ("+0.5s", FIRST + S // 2),
    ],
)
def test_a_moment(text: str, expected: int) -> None:
    assert parse_moment(text, FIRST, LAST) == expected


def test_words_without_a_zone_are_read_in_the_offset() -> None:
    assert parse_moment("10:30", FIRST, LAST, 3600) == ns("2026-03-02T09:30:00")
    assert parse_moment("11:30", FIRST, LAST, 3600) == ns("2026-03-01T10:30:00")
    assert parse_moment("2026-03-02T00:30", FIRST, LAST, 3600) == ns("2026-03-01T23:30:00")


@pytest.mark.parametrize("text", ["", "noon", "25:00", "12:61", "-10", "-m", "٣:00", "2026-13-01", "i1200", "-" * 5000])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_moment(text, FIRST, LAST)


@pytest.mark.parametrize(
    ("zone", "seconds"), [("", 0), ("UTC", 0), ("+02:00", 7200), ("-0330", -12600), ("Europe/Berlin", 3600)]
)
def test_zones(zone: str, seconds: int) -> None:
    assert utc_offset(zone, LAST) == seconds


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "+2", "\x00"])
def test_an_unknown_zone_is_named(zone: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        utc_offset(zone, LAST)
