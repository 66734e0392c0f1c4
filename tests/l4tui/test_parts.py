"""Places, vitals, histogram, first page, terminal, theme: the parts behind the screen."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui import firstpage
from l4tui.charts import marks_of
from l4tui.engine.view import EntryRows
from l4tui.histogram import histogram_of
from l4tui.lenses import node_labels, short_site
from l4tui.places import read_place
from l4tui.screens.fields import fields_text, laid_out, record_text
from l4tui.terminal import OSC52_MAX, osc52
from l4tui.theme import choose
from l4tui.vitals import iteration_durations, vitals_of
from tests.l4tui.fake import SECOND, START, FakeSnapshot


def test_places() -> None:
    snapshot = FakeSnapshot(1000)
    assert read_place("i12", snapshot).is_iteration
    assert read_place("12:03:10", snapshot).value == START + 10 * SECOND
    assert read_place("-10s", snapshot).value == int(snapshot.clock[-1]) - 10 * SECOND
    with pytest.raises(ValueError, match="i1200"):
        read_place("later", snapshot)
    with pytest.raises(ValueError, match="no line"):
        read_place("12:03", FakeSnapshot(2))


def test_iterations_are_timed_and_gaps_are_not() -> None:
    numbers = np.array([1, 2, 2, 3, 7, 8, 9])
    clock = np.array([0, 1, 1, 2, 9, 11, 13]) * SECOND
    assert iteration_durations(numbers, clock) == (1.0, 2.0, 2.0)
    assert iteration_durations(np.array([], int), np.array([], int)) == ()


def test_vitals_of_an_empty_and_of_a_failed_log() -> None:
    assert vitals_of(FakeSnapshot(0)).iteration == -1
    assert vitals_of(FakeSnapshot(1000)).iteration == 24


def test_a_histogram_counts_every_line_with_a_time() -> None:
    snapshot = FakeSnapshot(5000)
    counted = histogram_of(snapshot, EntryRows(None, 5000), 60, Event())
    assert counted is not None
    assert counted.lines.sum() == 4997 and 20 < len(counted.lines) <= 61
    assert histogram_of(FakeSnapshot(2), EntryRows(None, 2), 60, Event()) is None


def test_structures_are_laid_out_and_what_is_none_is_left_alone() -> None:
    assert laid_out('metrics {"a": [1, 2]}').startswith("metrics\n{\n")
    assert '"loss": 1.5' in laid_out("{'loss': 1.5}")
    for text in ("no structure", "[rank3]: text", "{", "[" * 5000, "{1, 2}", "[Errno 2]"):
        assert laid_out(text) == ""


def test_fields_and_record_show_hostile_text_as_text() -> None:
    snapshot = FakeSnapshot(10, odd={5: "[bold]x[/] \x1b]0;title\x07 \udcff"})
    for text in (fields_text(snapshot, 5, False), record_text(snapshot, 5, False)):
        assert "[bold]x[/]" in text.plain and "\x1b" not in text.plain


def test_sites_are_shortened_to_file_and_line() -> None:
    assert short_site("torch/distributed/run.py:792:main") == "run.py:792"
    assert short_site("train.py:1") == "train.py:1"


def test_node_names_keep_what_tells_them_apart() -> None:
    assert node_labels(("trn52", "trn53")) == ("trn52", "trn53")
    assert node_labels(("ip-10-0-20-74", "ip-10-0-20-75")) == ("74", "75")
    assert node_labels(("gpu-a03.cluster.local", "gpu-b11.cluster.local")) == ("a03", "b11")
    assert node_labels(("node-00000001", "node-00000001x")) == ("00000001", "00000001x")
    assert node_labels(()) == () and node_labels(("ip-10-0-20-74-long",)) == ("ip-10-0-20-74-long",)


@given(st.binary(max_size=300), st.integers(1, 80))
def test_a_line_of_the_first_page_is_printable_and_fits(line: bytes, width: int) -> None:
    shown = firstpage.safe(line, width)
    assert len(shown) <= width and (shown.isprintable() or not shown)


def test_the_first_page_is_the_end_of_the_newest_file(tmp_path: Path) -> None:
    old, new = tmp_path / "a.log", tmp_path / "b.log"
    old.write_text("old\n")
    new.write_bytes(b"x" * 200_000 + b"\n" + b"".join(b"line %d\n" % n for n in range(1000)))
    os.utime(old, (1, 1))
    assert firstpage.newest_file([str(tmp_path)]) == str(new)
    assert firstpage.page(str(new), 80, 3) == ["line 997", "line 998", "line 999"]
    (tmp_path / "c.log").write_bytes(b"\0\1\2")
    assert firstpage.page(str(tmp_path / "c.log"), 80, 3) == []
    (tmp_path / "d.log").write_bytes(b"one\n" + bytes(60_000) + b"two\0\x1b[1m\nthree\n")
    assert firstpage.page(str(tmp_path / "d.log"), 80, 3) == ["one", "two[1m", "three"]
    (tmp_path / "e.log").write_bytes(bytes(range(256)) * 4)
    assert firstpage.page(str(tmp_path / "e.log"), 80, 3) == []


def test_the_first_page_needs_nothing_heavy() -> None:
    code = "import sys, l4tui.firstpage, l4tui.terminal, l4tui.actions; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "textual", "rich"} & set(done.stdout.split())


def test_osc52() -> None:
    assert base64.b64decode(osc52("hä")[7:-1]).decode() == "hä"
    assert osc52("x", through_tmux=True).startswith("\x1bPtmux;\x1b\x1b]52;")
    assert len(osc52("x" * 200_000)) <= OSC52_MAX + 10


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"TERM": "xterm-256color"}, "l4tui"),
        ({"TERM": "screen"}, "l4tui-16"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "l4tui"),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "l4tui-light"),
    ],
)
def test_the_theme_follows_the_terminal(environ: dict[str, str], name: str) -> None:
    assert choose("auto", environ) == name
    assert choose("nord", environ) == "nord"


@pytest.mark.parametrize("span", [(1, 100), (1, 61), (980, 1204), (1, 2), (0, 7), (1, 1e6)])
def test_marks_of_an_axis_are_whole_and_few(span: tuple[float, float]) -> None:
    marks = marks_of(*span, 6)
    assert 2 <= len(marks) <= 7 and all(mark == int(mark) for mark in marks)
    assert span[0] <= marks[0] and marks[-1] <= span[1]


def test_marks_of_a_short_axis_and_of_none() -> None:
    assert [f"{mark:.10g}" for mark in marks_of(0, 0.5, 5)] == ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert marks_of(0, 1.5, 40) == [0, 1] and marks_of(1.2, 4, 20) == [2, 3, 4]
    assert marks_of(5, 5, 6) == [5] and marks_of(float("nan"), 1, 6) == []


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(2, 60))
def test_marks_of_any_axis_stand_on_it(low: float, length: float, most: int) -> None:
    marks = marks_of(low, low + length, most)
    assert len(marks) <= most + 2 and marks == sorted(marks)
