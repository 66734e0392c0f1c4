"""Replicas of a role whose name has a dot are nodes of their own."""

from pathlib import Path

from tests.engine.reading import ranks_of


def test_a_dotted_role_is_cut_nowhere(tmp_path: Path) -> None:
    lines = []
    for step in range(6):
        for rank in range(8):
            lines.append(f"my.train/{rank // 4} [default{rank % 4}]:[rank{rank}]: step {step} loss 2.{step}")
    lines += ["my.train/1 [default1]:[rank5]:[E712 10:00:00.1 ProcessGroupNCCL.cpp:681] To avoid data inconsistency"]
    told = ranks_of(tmp_path, lines)
    assert all(got in (None, rank % 8) for rank, got in enumerate(told[:48])) and told[48] == 5
