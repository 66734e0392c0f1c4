"""Each rule of identity on small speakers and facts."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from l4tui.engine.filenames import names_of
from l4tui.engine.identity import Identity
from l4tui.engine.lanes import lane_of
from l4tui.engine.model import Kind, SourceName, Speaker
from l4tui.engine.rankmap import RankMapError
from tests.engine.resolving import Line, resolve, tag


def test_torch_prefix_is_global_and_strongest() -> None:
    assert resolve([(Speaker(0, rank=5, self_rank=1), "x")])[0] == [5]


def test_label_is_global() -> None:
    ranks, table = resolve([(Speaker(0, task=t), "x") for t in range(8)])
    assert ranks == list(range(8)) and table.world_size == 8
    assert all(table.kind == Kind.RANK)


def test_launcher_has_no_rank() -> None:
    ranks, table = resolve([(Speaker(0, task=3, launcher=True), "slurmstepd: error: x")])
    assert ranks == [-1] and table.kind[0] == Kind.LAUNCHER


def test_self_report_does_not_override_a_label() -> None:
    assert resolve([(Speaker(0, task=t, self_rank=0), "x") for t in range(4)])[0] == [0, 1, 2, 3]


def test_text_can_imitate_torch_prefix() -> None:
    lines = [(tag(j), "x") for j in range(4)]
    lines += [(tag(2, rank=3), "x"), (Speaker(0, launcher=True), "torchrun --standalone t.py")]
    assert resolve(lines)[0] == [0, 1, 2, 3, -1, -1]
    lines = [(Speaker(0, task=t, rank=t), "x") for t in range(8)]
    assert resolve([*lines, (Speaker(0, task=2, rank=3), "x")])[0] == [*range(8), -1]


class TestLabelsThatCountNodes:
    def test_several_local_ranks_per_label(self) -> None:
        lines = [(Speaker(0, task=t, local_rank=j), "x") for t in range(2) for j in range(2)]
        ranks, table = resolve(lines)
        assert ranks == [-1] * 4 and table.local_rank.tolist() == [0, 1, 0, 1]
        assert resolve(lines, ranks_per_node=2)[0] == [0, 1, 2, 3]
        assert table.assumed.tolist() == [0, 1, 2, 3]

    def test_told_per_node(self) -> None:
        lines = [(Speaker(0, task=t, local_rank=j), "x") for t in range(2) for j in range(2)]
        lines.append((Speaker(0, launcher=True), "+ srun torchrun --nnodes 2 --nproc-per-node 2 t.py"))
        assert resolve(lines)[0] == [0, 1, 2, 3, -1]

    def test_world_that_divides(self) -> None:
        lines = [(Speaker(0, task=t, local_rank=j), "world_size=4") for t in range(2) for j in range(2)]
        assert resolve(lines)[0] == [0, 1, 2, 3]

    def test_one_taught_pair_places_its_node(self) -> None:
        lines = [(Speaker(0, task=t, local_rank=j), "x") for t in range(2) for j in range(4)]
        lines.append((lines[5][0], "| distributed init (rank 1): env://, gpu 1"))  # label 1 holds ranks 0..3
        assert resolve(lines)[0] == [-1] * 4 + [0, 1, 2, 3, 1]

    def test_torch_prefix_disagrees(self) -> None:
        lines = [(Speaker(0, task=1, rank=9), "x"), (Speaker(0, task=1), "x"), (Speaker(0, task=0), "x")]
        assert resolve(lines)[0] == [9, -1, -1]

    def test_world_larger_than_the_labels(self) -> None:
        lines = [(Speaker(0, task=t), "using world size: 16") for t in range(2)]
        assert resolve(lines)[0] == [-1, -1]
        lines.append((Speaker(0, task=1, rank=1), "x"))  # under a node index 1 no rank can be 1
        assert resolve(lines)[0] == [0, 1, 1]

    def test_self_reports_of_several_ranks_under_a_label(self) -> None:
        lines = [(Speaker(0, task=t, self_rank=t * 2 + j), "x") for t in range(2) for j in range(2)]
        assert resolve([*lines, (Speaker(0, task=1), "x")])[0] == [0, 1, 2, 3, -1]


class TestLocalTags:
    def test_single_node(self) -> None:
        lines = [(tag(j), "x") for j in range(4)]
        assert resolve(lines)[0] == [0, 1, 2, 3]
        assert resolve([*lines, (Speaker(0, launcher=True), "+ torchrun --standalone --nproc-per-node 4 t.py")])[0][
            :4
        ] == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        "sign",
        [
            (tag(0), "start world=4 pid=99"),  # world larger than the local ranks
            (Speaker(0, launcher=True), "torchrun --nnodes 2 --nproc-per-node 2 t.py"),
            (tag(1, rank=3), "x"),
            (tag(1, node="n2"), "x"),
            (Speaker(0, launcher=True), "| nnodes=2, num_local_procs=2, node_rank=1"),
        ],
    )
    def test_a_sign_of_a_second_node(self, sign: Line) -> None:
        lines = [(tag(0, node="n1"), "x"), (tag(0), "x"), (tag(1), "x"), sign]
        assert resolve(lines)[0][1:3] == [-1, -1]

    def test_two_agents(self) -> None:
        lines = [(tag(0), "x"), *((Speaker(0, pid=p, launcher=True), "run.py") for p in (31, 32))]
        assert resolve(lines)[0][0] == -1

    def test_two_processes_under_one_tag(self) -> None:
        lines = [(tag(0), "start world=2 pid=11"), (tag(1), "start world=2 pid=12"), (tag(0), "start world=2 pid=13")]
        assert resolve(lines)[0] == [-1, -1, -1]

    def test_a_process_that_took_the_place_of_another(self) -> None:
        agent = Speaker(0, pid=5, launcher=True)
        lines = [(tag(0), "start world=2 pid=11"), (tag(1), "start world=2 pid=12"), (tag(0), "start world=2 pid=13")]
        assert resolve([*lines, (agent, "Sending process 11 closing signal SIGTERM")])[0] == [0, 1, 0, -1]

    def test_two_ranks_under_one_tag(self) -> None:
        lines = [(tag(4), f"| distributed init (rank {r}): env://, gpu 4") for r in (4, 12)]
        assert resolve([*lines, (tag(4, rank=12), "x")])[0] == [-1, -1, 12]

    def test_labels_of_hosts_and_one_pair_each(self) -> None:
        lines = [(tag(j, node=n), "x") for n in ("a", "b") for j in range(4)]
        lines.append((tag(2, node="b", rank=2), "x"))
        lines.append((tag(0, node="a", rank=4), "x"))
        ranks, table = resolve(lines)
        assert ranks == [4, 5, 6, 7, 0, 1, 2, 3, 2, 4]
        assert table.node_ranks == {"a": [4, 5, 6, 7], "b": [0, 1, 2, 3]}

    def test_nodes_that_claim_the_same_ranks(self) -> None:
        lines = [(tag(j, node=n, self_rank=j), "x") for n in ("a", "b") for j in range(2)]
        ranks, table = resolve(lines)
        assert ranks == [-1] * 4 and table.contradictions

    def test_a_restart_must_teach_again(self) -> None:
        lines = [(tag(0, node=n, epoch=e), "x") for e in (0, 1) for n in ("a", "b")]
        lines += [(tag(0, node="a", rank=1), "x"), (tag(0, node="b", rank=0), "x")]
        assert resolve(lines)[0][:4] == [1, 0, -1, -1]

    def test_told_with_restart_counts_for_it(self) -> None:
        lines = [(tag(1, epoch=e, node=n), "x") for e in (0, 1) for n in ("a", "b")]
        lines.append((tag(1, node="a"), "rank 3 starts on a, local rank 1, pid 7, restart 1"))
        assert resolve(lines)[0][:4] == [-1, -1, 3, -1]

    def test_self_reports_part_mixed_nodes(self) -> None:
        lines = [(tag(j, self_rank=r), "x") for j, r in ((0, 0), (1, 1), (0, 2), (1, 3))]
        assert resolve([*lines, (tag(0), "x")])[0] == [0, 1, 2, 3, -1]


class TestFiles:
    def test_tree_of_one_run_is_one_node(self) -> None:
        paths = [PurePosixPath(f"none_ab12cd3_/attempt_0/{j}/stdout.log") for j in range(4)]
        lines = [(Speaker(i), "x") for i in range(4)]
        assert resolve(lines, names_of(paths))[0] == [0, 1, 2, 3]

    def test_trees_of_two_runs_need_teaching(self) -> None:
        paths = [PurePosixPath(f"job_ab12cd3{n}/attempt_0/{j}/stdout.log") for n in "xy" for j in range(2)]
        lines = [(Speaker(i), "x") for i in range(4)]
        assert resolve(lines, names_of(paths))[0] == [-1] * 4
        lines.append((Speaker(3), "rank 3 starts on n2, local rank 1, pid 7, restart 0"))
        assert resolve(lines, names_of(paths))[0][:4] == [-1, -1, 2, 3]

    def test_rank_in_the_name(self) -> None:
        names = names_of([PurePosixPath(f"rank-{r}.log") for r in range(2)])
        assert resolve([(Speaker(0), "x"), (Speaker(1, self_rank=0), "x")], names)[0] == [0, 1]

    def test_name_that_the_text_denies(self) -> None:
        names = names_of([PurePosixPath(f"rank-{r}.log") for r in range(8)])
        lines = [(Speaker(r, rank=r), "x") for r in range(1, 8)] + [(Speaker(0, rank=9), "x"), (Speaker(0), "x")]
        ranks, table = resolve(lines, names)
        assert ranks[-2:] == [9, -1] and table.contradictions

    def test_number_of_a_node_in_the_name(self) -> None:
        names = [SourceName(rank=0), SourceName(rank=1)]
        lines = [(tag(j, source=s), "torchrun --nproc-per-node 2") for s in range(2) for j in range(2)]
        assert resolve(lines, names)[0] == [0, 1, 2, 3]

    def test_files_of_nodes(self) -> None:
        names = names_of([PurePosixPath(f"worker-{n}.log") for n in range(2)])
        lines = [(tag(j, source=s), "x") for s in range(2) for j in range(2)]
        assert resolve(lines, names)[0] == [-1] * 4
        lines.append((tag(1, source=1), "rank 3 starts on worker-1, local rank 1, pid 4"))
        lines.append((Speaker(1), "plain text of the node"))
        ranks, table = resolve(lines, names)
        assert ranks == [-1, -1, 2, 3, 3, -1]
        assert [table.nodes[n] for n in table.node.tolist()] == ["worker-0"] * 2 + ["worker-1"] * 3

    def test_text_names_a_node_better_than_its_file(self) -> None:
        lines = [(Speaker(0), "==== starting on gpu-b7 ====")]
        assert resolve(lines, [SourceName(node="node0")])[1].nodes == ("gpu-b7",)


class TestProcesses:
    def test_pid_is_taught(self) -> None:
        lines = [
            (Speaker(0, pid=11, actor="Worker"), "early"),
            (Speaker(0, pid=12, actor="Worker"), "early"),
            (Speaker(0, pid=9, actor="Controller"), "- (ip=10.0.0.2, pid=11) world_rank=1, local_rank=1, node_rank=0"),
            (Speaker(0, pid=9, actor="Controller"), "- (ip=10.0.0.2, pid=12) world_rank=0, local_rank=0, node_rank=0"),
        ]
        ranks, _ = resolve(lines)
        assert ranks[:2] == [1, 0] and ranks[2] == -1

    def test_pid_of_two_ranks_is_none(self) -> None:
        lines = [(Speaker(0, pid=11, actor="task", self_rank=r), "x") for r in (0, 2)]
        assert resolve([*lines, (Speaker(0, pid=11, actor="task"), "x")])[0] == [0, 2, -1]

    def test_nccl(self) -> None:
        lines = [
            (Speaker(0, node=f"n{r // 2}", pid=60 + r % 2, tid=5), f"comm 0xa rank {r} nranks 4 cudaDev 0 commId 0x1")
            for r in range(4)
        ]
        lines += [(Speaker(0, node="n1", pid=61, tid=7), "NET/IB warn")]
        assert resolve(lines)[0] == [0, 1, 2, 3, 3]

    def test_nccl_group_is_not_the_job(self) -> None:
        lines = [(Speaker(0, node="n", pid=p), f"rank {p % 2} nranks 2 cudaDev 0 commId 0x{p // 2}") for p in range(4)]
        assert resolve(lines)[0] == [-1] * 4
        lines = [*lines[:2], (Speaker(0, node="n", pid=5), "using world size: 8")]
        assert resolve(lines)[0] == [-1] * 3

    def test_failure_table(self) -> None:
        agent = Speaker(0, pid=4, launcher=True)
        table = ["  host      : n2", "  rank      : 6 (local_rank: 2)", "  exitcode  : -9 (pid: 812)"]
        lines = [
            *((agent, text) for text in table),
            (tag(1, node="n2"), "x"),
            (tag(1, node="n1"), "x"),
            (Speaker(0, node="n2", pid=812), "x"),
        ]
        assert resolve(lines)[0][3:] == [5, -1, 6]

    def test_a_pid_on_several_hosts_is_no_process(self) -> None:
        lines = [(Speaker(0, pid=227 + r, self_rank=r), "x") for r in range(2)]
        lines.append((Speaker(0, pid=227), "x"))
        assert resolve(lines)[0] == [0, 1, 0]
        launch = (Speaker(0, launcher=True), "torchrun --nnodes 2 --nproc-per-node 1")
        assert resolve([*lines, launch])[0][2] == -1
        assert resolve([*lines, launch], [SourceName(node="n1")])[0][2] == 0

    def test_a_thread_that_said_who_it_is(self) -> None:
        lines = [(Speaker(0, tid=140012774328064 + i), f"JAX process: {i} / 2") for i in range(2)]
        assert resolve([*lines, (Speaker(0, tid=140012774328065), "step")])[0] == [0, 1, 1]

    def test_threads_are_no_ranks(self) -> None:
        assert resolve([(Speaker(0, tid=140012774328064 + i), "x") for i in range(3)])[0] == [-1] * 3


class TestSelfReports:
    def test_taken_when_nothing_else_is(self) -> None:
        assert resolve([(Speaker(0, self_rank=r), "x") for r in range(3)])[0] == [0, 1, 2]

    def test_two_nodes_cannot_be_one_rank(self) -> None:
        ranks, table = resolve([(Speaker(0, self_rank=0, node=n), "x") for n in "ab"])
        assert ranks == [-1, -1] and table.contradictions[0].rank == 0

    def test_liars_under_tags(self) -> None:
        assert resolve([(tag(j, self_rank=0), "x") for j in range(2)])[0] == [0, 1]

    def test_a_default_that_nobody_set(self) -> None:
        assert resolve([(Speaker(0, self_rank=0), "x")])[0] == [-1]
        assert resolve([(Speaker(0, self_rank=0), "x"), (Speaker(0, rank=1), "x")])[0] == [-1, 1]

    def test_beyond_the_world(self) -> None:
        assert resolve([(Speaker(0, self_rank=9), "x")], world_size=8)[0] == [-1]


def test_place_of_tasks() -> None:
    lines = [(Speaker(0, task=t), "x") for t in range(4)]
    lines.append((Speaker(0, launcher=True), "srun: error: n2: tasks 2-3: Killed"))
    table = resolve(lines)[1]
    assert table.node_ranks == {"n2": [2, 3]}


def test_map_file(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("# who is where\nn1 0 7\nstrange-*.log = 3\n")
    identity = Identity(map_file=path)
    identity.add_source(0, SourceName(), PurePosixPath("logs/strange-a.log"))
    identity.add_source(1, SourceName(node="n1"))
    assert identity.resolve([Speaker(0), Speaker(1, local_rank=0)]).rank.tolist() == [3, 7]
    path.write_text("n1.x.org 8-9,4\nn2 3\n")
    identity = Identity(map_file=path)
    identity.add_source(0, SourceName(node="n1"))
    identity.add_source(1, SourceName(node="n2"))
    seats = [Speaker(0, local_rank=r) for r in range(4)]
    assert identity.resolve([*seats, Speaker(0), Speaker(1)]).rank.tolist() == [8, 9, 4, -1, -1, 3]
    path.write_text("n1 0-\n")
    with pytest.raises(RankMapError, match="map:1"):
        Identity(map_file=path)


def test_lanes() -> None:
    assert lane_of(tag(1)) == lane_of(tag(1, self_rank=4, pid=8)) != lane_of(tag(2))
    assert lane_of(Speaker(0, self_rank=1)) != lane_of(Speaker(0, self_rank=2))
    assert lane_of(Speaker(0, task=1)) != lane_of(Speaker(0, task=1, launcher=True))


# properties


def test_local_ranks_that_no_second_node_has_room_for_are_ranks() -> None:
    shown = [(tag(0), "world=4"), (tag(2), "x")]  # --local-ranks-filter 0,2
    assert resolve(shown, world_size=4)[0] == [0, 2]
    assert resolve([(tag(0), "x"), (tag(1), "x")], world_size=4)[0] == [-1, -1]
    assert resolve([(tag(0), "x"), (tag(2), "x")], world_size=6)[0] == [-1, -1]


def test_agents_that_a_rendezvous_may_have_sorted_have_no_rank() -> None:
    tags = [(Speaker(0, task=t, local_rank=j), "x") for t in range(2) for j in range(2)]
    assert resolve(tags, world_size=4)[0] == [0, 1, 2, 3]
    again = [(Speaker(0, epoch=1, task=t, local_rank=j), "x") for t in range(2) for j in range(2)]
    assert resolve(tags + again, world_size=4)[0] == [-1] * 8


def test_one_node_that_is_not_the_first_is_not_the_only_one() -> None:
    assert resolve([(Speaker(0, task=1, local_rank=j), "x") for j in range(2)])[0] == [-1, -1]
