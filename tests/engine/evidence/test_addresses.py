"""Peers named by addresses of another kind, devices by their place on the bus, ranks by their own files."""

from __future__ import annotations

import pytest

from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.peer_vote import judge
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.evidence.tabled import judge as judge_tables
from l4tui.engine.homes import find_homes, pci_bus
from l4tui.engine.library.matching import scan
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import Level
from l4tui.engine.roles import sight
from tests.engine.evidence.jobs import LIBRARY, said, steps

WORLD = 16
NODES = {f"n{n}": list(range(4 * n, 4 * n + 4)) for n in range(4)}


def case_of(lines: list[Said]) -> Case:
    journal = journal_of(lines, world_size=WORLD, node_ranks=NODES)
    sightings = sight(journal, scan(journal, LIBRARY).hits)
    return Case(journal, tuple(sightings), homes=find_homes(journal, sightings))


def refused(rank: int, peer: int) -> Said:
    text = (
        "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1, "
        f"local GID ::ffff:10.7.0.{rank // 4}, remote GID ::ffff:10.7.0.{peer}"
    )
    return said(rank, text, level=Level.WARNING)


def undelivered(rank: int, peer: str) -> Said:
    text = f"<warn> err: 14, message: Unreachable remote My host id: i-0{rank // 4}a Peer host id: {peer} (12)"
    return said(rank, text, level=Level.WARNING)


def nodes_accused(lines: list[Said]) -> dict[str | None, int]:
    return {f.node: len(f.rows) for f in judge(case_of([*steps(range(WORLD), 3), *lines]))}


def test_an_address_that_its_node_says_beside_the_peers_is_known() -> None:
    lines = [refused(0, 2), refused(5, 2), refused(13, 2), refused(8, 1)]
    assert nodes_accused(lines) == {"n2": 3, "n1": 1}


def test_an_address_that_nobody_has_is_that_of_the_only_node_left() -> None:
    lines = [undelivered(0, "i-02a"), undelivered(6, "i-02a"), undelivered(12, "i-02a")]
    assert nodes_accused(lines) == {"n2": 3}


@pytest.mark.parametrize("peers", [("i-02a", "i-02a"), ("i-02a", "i-0ff")])
def test_two_nodes_left_or_two_unknown_addresses_accuse_nobody(peers: tuple[str, str]) -> None:
    assert nodes_accused([undelivered(0, peers[0]), undelivered(6, peers[1])]) == {}


def test_a_device_is_the_rank_that_told_its_place_and_only_its_own() -> None:
    lines = [said(r, f"using cuda:{r % 4}, pci 0000:{r + 16:02x}:00.0") for r in range(8)]
    lines += [said(9, f"GPU {k}: PCI bus id 0000:{k + 16:02x}:00.0") for k in range(8)]
    case = case_of(lines)
    assert {bus.bus: who for bus, who in case.homes.users.items()} == {r + 16: {r} for r in range(8)}
    assert pci_bus("0000:13:00.0") in case.homes.users


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("/nvme/optimizer/rank5/140_grad.tensor.swp", 5),
        ("/ckpt/step_10/model_world_size_16_rank_11.pt", 11),
        ("/ckpt/mp_rank_05_model_states.pt", -1),
        ("/ckpt/zero_pp_rank_3_mp_rank_00_optim_states.pt", -1),
        ("/data/rank70/x.bin", -1),
    ],
)
def test_an_error_without_a_writer_is_of_the_rank_whose_file_it_names(path: str, rank: int) -> None:
    journal = journal_of([Said(f"{path}: buffer nbytes != file bytes 30 != 0", level=Level.ERROR)], world_size=WORLD)
    assert [s.rank for s in sight(journal, scan(journal, LIBRARY).hits)] == [rank]


def table(step: int, times: list[float], head: str = "forward:") -> list[Said]:
    return [said(0, head, step), *(said(0, f"  Rank {r}: {t}ms", step) for r, t in enumerate(times))]


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ([x for n in range(5) for x in table(n, [100, 101, 99, 180, 100, 102])], [3]),
        ([x for n in range(5) for x in table(n, [100, 101, 99, 104, 100, 102])], []),
        ([x for n in range(5) for x in table(n, [100, 101, 99, 180 if n < 4 else 100, 100, 102])], []),
        ([x for n in range(5) for x in table(n, [100, 101, 99, 180, 100, 102], "all-reduce:")], []),
        ([x for n in range(2) for x in table(n, [100, 101, 99, 180, 100, 102])], []),
    ],
    ids=["long to the end", "alike", "quick again", "a wait for others", "too few tables"],
)
def test_the_row_that_is_long_in_all_last_tables(lines: list[Said], ranks: list[int]) -> None:
    assert [f.rank for f in judge_tables(case_of(lines))] == ranks


def test_votes_are_what_started_it_where_they_are_all_there_is() -> None:
    lines = [refused(0, 2), refused(5, 2), refused(13, 2), refused(8, 1)]
    found = diagnose(journal_of(lines, world_size=WORLD, node_ranks=NODES), LIBRARY)
    votes = [(e.role, e.count) for e in found.events if e.pattern == "nccl.queue-pair"]
    assert found.blame.nodes[0].node == "n2" and votes == [(Role.INITIATING, 3), (Role.CASCADE, 1)]
