"""The report from files on disk: its contract, its pages, and what a hostile log cannot do to them."""

import json
from pathlib import Path

import pytest

from l4tui.cli import main
from l4tui.engine.report import render_html, render_markdown, render_text

HOSTILE = "<script>alert(1)</script> |x| **b** \x1b[31m [a](javascript:x)"


@pytest.fixture
def failed_job(tmp_path: Path) -> Path:
    """Write a job of four ranks in which one raises."""
    lines = []
    for step in range(1, 12):
        for rank in range(4):
            lines.append(f"[rank{rank}]: 2026-01-02 03:04:{step:02d},000 INFO step {step}/40 loss 2.5{rank}")
    lines += ["[rank2]: Traceback (most recent call last):", '[rank2]:   File "/x/train.py", line 7, in fit']
    lines += ["[rank2]:     self.step()", f"[rank2]: KeyError: '{HOSTILE}'"]
    for rank in (0, 1, 3):
        lines.append(f"[rank{rank}]: RuntimeError: [gloo/pair.cc:553] Connection closed by peer [10.0.0.1]:19362.")
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def report(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    code = main(["report", str(path), "--no-cache", *more])
    return code, capsys.readouterr().out


def test_json_keeps_the_contract(failed_job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = report(failed_job, capsys, "--format", "json")
    told = json.loads(out)
    assert code == 0 and told["schema"] == "l4tui.report/1"
    assert set(told) >= {"job", "verdict", "suspects", "events", "iterations", "divergence", "baseline",
                         "timing"}  # fmt: skip
    assert set(told["job"]) >= {"sources", "bytes", "lines", "records", "mixed_lines", "launcher_lines",
                                "unknown_lines", "world_size", "ranks", "nodes", "formats", "first_time", "last_time",
                                "outcome", "clocks"}  # fmt: skip
    assert set(told["verdict"]) >= {"summary", "cause", "stage", "iteration", "scope", "confidence", "actions"}
    suspect = told["suspects"]["ranks"][0]
    assert suspect["rank"] == 2 and set(suspect) >= {"node", "attempt", "score", "l4_rank", "l4_degree", "reasons"}
    first = told["events"][0]
    assert first["role"] == "initiating" and first["ranks"] == [2]
    source, begin, end = first["lines"][0]
    assert source == str(failed_job) and begin <= 48 <= end
    assert told["job"]["outcome"] == "failed" and told["verdict"]["stage"] == "train"


def test_check_ends_with_one_and_a_healthy_job_with_zero(failed_job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(failed_job, capsys, "--check")[0] == 1
    failed_job.write_text("".join(f"[rank{r}]: step {s}/9 loss 2.5\n" for s in range(1, 9) for r in range(4)))
    assert report(failed_job, capsys, "--check")[0] == 0


@pytest.mark.parametrize("render", [render_text, render_markdown, lambda told: render_html([told])])
def test_pages_escape_what_a_log_says(failed_job: Path, capsys: pytest.CaptureFixture[str], render) -> None:
    told = json.loads(report(failed_job, capsys, "--format", "json")[1])
    page = render(told)
    assert "rank 2" in page and "\x1b" not in page
    if render is not render_text:
        assert "<script>" not in page
    if render is render_markdown:
        assert "](javascript" not in page and "**b**" not in page


def test_a_suspect_may_come_from_outside(failed_job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(report(failed_job, capsys, "--format", "json", "--suspect", "rank:1@03:04:05")[1])
    assert {f["kind"] for s in told["suspects"]["ranks"] if s["rank"] == 1 for f in s["reasons"]} >= {"external"}
    assert main(["report", str(failed_job), "--suspect", "moon"]) == 2
