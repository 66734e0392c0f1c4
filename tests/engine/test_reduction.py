"""What could go unsaid, and how much that would save."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from l4tui.engine.reduction import reduction
from tests.engine.telemetry.jobs import snap_of


def test_each_way_to_say_nothing_new_is_found(tmp_path: Path) -> None:
    lines = []
    for step in range(1, 31):
        for rank in range(4):
            lines += [
                f"{rank}: step {step} local loss {step + rank / 7:.4f}",
                f"{rank}: global gradient norm came to {step * 1.5}",  # the same on all ranks
                f"{rank}: heartbeat sent, all quiet here",  # never anything new
                f"{rank}: throughput tokens {step * 100 + rank}",
                f"{rank}: throughput tokens {step * 100 + rank}",  # two handlers
                f"{rank}: alpha reads {rank * 1000 + step} here",
                f"{rank}: of beta there are {rank * 1000 + step}",  # the same numbers in other words
            ]
    snap = snap_of(tmp_path, "\n".join(lines) + "\n")
    found = reduction(snap, Event())
    by_words = {saving.template.split()[0]: saving for saving in found.savings}
    assert by_words["global"].reason == "ranks" and by_words["global"].saved_lines == 90
    assert by_words["heartbeat"].reason == "constant" and by_words["heartbeat"].saved_lines == 116
    assert by_words["throughput"].reason == "twice" and by_words["throughput"].saved_lines == 120
    assert by_words["of"].reason == "echo" and by_words["of"].like.startswith("alpha")
    assert "step" not in by_words and "alpha" not in by_words
    assert found.lines == 30 * 4 * 7
    assert found.saved_bytes == sum(saving.saved_bytes for saving in found.savings) < found.bytes
    heartbeat = len("0: heartbeat sent, all quiet here\n")
    assert by_words["heartbeat"].bytes == 120 * heartbeat
    assert by_words["heartbeat"].saved_bytes == 116 * heartbeat


def test_a_healthy_metric_and_warnings_stay(tmp_path: Path) -> None:
    lines = [f"{r}: WARNING: the same on all ranks\n{r}: loss {i}.{r}\n" for i in range(40) for r in range(4)]
    assert reduction(snap_of(tmp_path, "".join(lines)), Event()).savings == ()


def test_an_empty_job(tmp_path: Path) -> None:
    assert reduction(snap_of(tmp_path, "x\n"), Event()).savings == ()
