"""Formats of the user's own: used like the shipped ones, and unable to stop a reader."""

from __future__ import annotations

import time

from l4tui.engine.formats import Dialect, Parser, detect, explain, formats_from_config, formats_from_plugins

GOOD = {
    "name": "site-tag",
    "layer": "prefix",
    "pattern": r"<<(?P<node>[\w-]+):(?P<task>\d+)>> ",
    "samples": [{"line": "<<gpu-1:3>> x", "fields": {"node": "gpu-1", "task": "3"}, "text": "x"}],
}


def test_an_own_prefix_is_read() -> None:
    own = formats_from_config([GOOD])
    assert own.warnings == ()
    line = b"<<gpu-1:3>> step 5"
    parse = Parser(Dialect(), own.formats).parse(line)
    assert {s.field: line[s.start : s.end] for s in parse.spans} == {"node": b"gpu-1", "task": b"3"}
    assert parse.lane_end == 12


def test_a_weak_own_prefix_waits_for_the_dialect() -> None:
    own = formats_from_config([{**GOOD, "weak": True}])
    log = [b"<<gpu-%d:%d>> step" % (k % 3, k % 8) for k in range(80)]
    assert Parser(Dialect(), own.formats).parse(log[0]).spans == ()
    assert detect(log, extra=own.formats).prefixes == ("site-tag",)


def test_broken_ones_are_left_out_with_a_line_each() -> None:
    tables = [
        {"name": "a", "pattern": "("},
        {"name": "b", "pattern": "x", "layer": "nowhere"},
        {"name": "c", "pattern": "x", "samples": [{"line": "y"}]},
        {"name": "ray", "pattern": "x"},
        {"name": "d", "pattern": "x", "colour": 1},
        {"pattern": "x"},
        {"name": "e", "pattern": 7},
        {"name": "f", "pattern": r"(\w+\s?)*:"},
        GOOD,
        GOOD,
    ]
    own = formats_from_config(tables)
    assert [fmt.name for fmt in own.formats] == ["site-tag"]
    assert len(own.warnings) == 9 and all("\n" not in warning for warning in own.warnings)


def test_a_slow_pattern_is_refused_in_time() -> None:
    began = time.monotonic()
    own = formats_from_config([{"name": "slow", "pattern": r".*a.*a.*a.*a.*b", "samples": [{"line": "aaaab"}]}])
    assert own.formats == () and "20 ms" in own.warnings[0]
    assert time.monotonic() - began < 10


def test_no_plugins_no_warnings() -> None:
    assert formats_from_plugins().warnings == ()


def test_explain_names_formats_and_ranges() -> None:
    log = [b"%d: [W1129 15:28:58.803585501 reducer.cpp:1529] slow" % (k % 8) for k in range(80)]
    log += [b"%d: ready" % (k % 8) for k in range(16)]
    rows = explain(log)
    assert rows[0].lines == 80
    assert [(p.format, p.start, p.end) for p in rows[0].parts][:2] == [
        ("srun-label", 0, 3),
        ("c10", 3, rows[0].text_at),
    ]
    assert dict(rows[0].parts[0].fields) == {"task": "0"}
