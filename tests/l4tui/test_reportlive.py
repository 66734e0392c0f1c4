"""Following: a verdict is told when it stands, and only then."""

from pathlib import Path

import pytest

from l4tui import reportlive
from l4tui.reportlive import follow, run_command


class Growing:
    """A job that has news at every look."""

    def read_all(self, final: bool = True) -> None:
        """Nothing to read."""

    def poll(self) -> bool:
        return True

    def wait(self, timeout: float) -> bool:
        return True


def told(scope: str, outcome: str, rank: int = 3) -> dict[str, object]:
    suspects = [{"rank": rank, "node": "n0"}] if scope == "ranks" else []
    return {
        "job": {"outcome": outcome},
        "verdict": {"scope": scope, "cause": "code"},
        "suspects": {"ranks": suspects, "nodes": []},
    }


def run(monkeypatch: pytest.MonkeyPatch, *reports: dict[str, object]) -> tuple[int, list[object]]:
    monkeypatch.setattr(reportlive, "EVERY", 0.0)
    queue, heard = list(reports), []
    follow(Growing(), lambda job: queue.pop(0), heard.append)  # type: ignore[arg-type]
    return len(reports) - len(queue), heard


def test_a_verdict_must_be_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = told("ranks", "running"), told("ranks", "running", rank=5)
    judged, heard = run(monkeypatch, told("none", "running"), other, first, first, first)
    assert judged == 4 and heard == [first]


def test_the_end_of_the_job_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    done = told("none", "completed")
    assert run(monkeypatch, told("none", "running"), done) == (2, [done])


def test_the_command_gets_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(f"cat > {tmp_path}/got; exit 3", '{"schema": 1}')
    assert (tmp_path / "got").read_text() == '{"schema": 1}'
    assert "ended with 3" in capsys.readouterr().err
