"""One node's log of a job of many, opened alone: its local ranks have ranks when each of them tells its own."""

from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from tests.engine.reading import files_ranks

AGENT = "W0302 09:00:01.378000 {pid} torch/distributed/run.py:792] Setting OMP_NUM_THREADS for each process to be 1"


def node(first: int, host: str, *, agent: int = 3930, tellers: int = 4) -> list[str]:
    """Return what a torchrun agent with four local ranks prints; `tellers` of them say which of 64 ranks they are."""
    lines = [AGENT.format(pid=agent)]
    for local in range(tellers):
        pid = agent + 100 * local
        lines.append(f"[default{local}]:process group: rank={first + local} world_size=64")
        lines.append(f"[default{local}]:{host}:{pid}:{pid + 9} [{local}] NCCL INFO NCCL_SOCKET_IFNAME set to ib0")
    lines += [f"[default{k % 4}]:step {k // 4} took {200 + k % 7} ms" for k in range(40)]
    return lines


def ranks(path: Path, lines: list[str]) -> set[int]:
    """Return the ranks of the lines that tell of steps."""
    path.write_text("".join(f"{line}\n" for line in lines))
    job = Job(discover([str(path)]).choose(0).sources)
    job.read_all()
    snap = job.snapshot()
    job.close()
    return {int(snap.rank(entry)) for entry in range(snap.length) if b"step" in snap.raw(entry)}


def test_a_node_whose_ranks_all_tell_theirs_is_alone_in_its_log(tmp_path):
    assert ranks(tmp_path / "job.log", node(8, "trn53")) == {8, 9, 10, 11}
    assert ranks(tmp_path / "job.log", node(0, "trn52")) == {0, 1, 2, 3}


def test_logs_of_two_nodes_in_one_file_have_no_ranks(tmp_path):
    assert ranks(tmp_path / "job.log", node(8, "trn53") + node(12, "trn54", agent=4100)) == {-1}


def test_a_second_host_or_launcher_means_a_second_node_whatever_its_ranks_say(tmp_path):
    silent = node(12, "trn54", agent=4100, tellers=0)
    assert ranks(tmp_path / "job.log", node(8, "trn53") + silent) == {-1}
    other = "[default1]:trn54:77:78 [1] NCCL INFO NCCL_SOCKET_IFNAME set to ib0"
    assert ranks(tmp_path / "job.log", [*node(8, "trn53"), other]) == {-1}


def test_one_rank_that_tells_its_number_does_not_tell_the_others(tmp_path):
    assert ranks(tmp_path / "job.log", node(8, "trn53", tellers=1)) == {-1}


def test_the_first_node_alone_may_be_the_only_one_that_tells(tmp_path):
    told = [line for line in node(0, "trn52") if "NCCL" not in line and "OMP" not in line]
    assert ranks(tmp_path / "job.log", told) == {-1}


def test_a_launchers_table_is_of_one_of_the_nodes_whose_lines_stand_here(tmp_path: Path) -> None:
    lines = ["[default0]:world_size=4", *(f"[default{k % 2}]:step {k // 2} took {200 + k % 7} ms" for k in range(40))]
    table = [f"  rank      : {2 + local} (local_rank: {local})" for local in (0, 1)]
    rows = [row for one in table for row in ("  host      : localhost", one)]
    assert ranks(tmp_path / "job.log", [*lines, *rows]) == {-1}


def test_logs_that_hold_all_ranks_between_them_are_a_nodes_each(tmp_path: Path) -> None:
    def rows(first: int, tellers: int = 2) -> list[str]:
        told = [f"[default{k}]:Hello from rank {first + k} of 4" for k in range(tellers)]
        return told + [f"[default{k % 2}]:step {k // 2} took {200 + k} ms" for k in range(40)]

    def found(other: list[str]) -> list[set[int | None]]:
        files = files_ranks(tmp_path, {"0.txt": rows(0), "1.txt": other})
        return [set(ranks) for ranks in files.values()]

    assert found(rows(2)) == [{0, 1}, {2, 3}]
    assert found(rows(0)) == [{None}, {None}]  # each node counts its own
    assert found(rows(2, tellers=1))[0] == {None}  # a rank is left
