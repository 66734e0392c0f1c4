"""A kernel's log beside the job's counts as a reason, for the node that its name tells."""

from __future__ import annotations

from pathlib import Path

from l4tui.engine.appraisal import appraise
from l4tui.engine.homes import nccl_bus, pci_bus
from l4tui.engine.library import load
from tests.engine.small_jobs import read

STEP = "[node0{n}:{pid}][rank{r}] 2026-03-01 10:00:{i:02},000 INFO train.py:10 iteration {i} loss 2.0"
DIED = (
    "[node0{n}:{pid}][rank{r}] 2026-03-01 10:01:12,000 ERROR train.py:30 "
    "NCCL error: remote process exited or there was a network error"
)
KERNEL = """\
2026-03-01T09:50:00,000000+00:00 NVRM: loading the driver
2026-03-01T10:00:40,000000+00:00 NVRM: Xid (PCI:0000:3b:00): 79, pid=11, name=python, GPU has fallen off the bus.
2026-03-01T10:00:40,200000+00:00 pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3a:00.0
"""


USES = (
    "[node0{n}:{pid}][rank{r}] 2026-03-01 09:59:00,000 INFO init.py:1 "
    "NCCL INFO comm 0x55 rank {r} nranks 16 cudaDev {d} nvmlDev {d} busId {bus:x} commId 0x7 - Init COMPLETE"
)


def write(folder: Path, *, first: str = "") -> None:
    """Write two nodes' logs and the second one's kernel log; `first` is what each rank says at first."""
    for n in range(2):
        ranks = range(8 * n, 8 * n + 8)
        lines = [first.format(n=n, pid=9000 + r, r=r, d=r % 8, bus=0x19000 + 0x11000 * (r % 8)) for r in ranks if first]
        lines += [STEP.format(n=n, pid=9000 + r, r=r, i=i) for i in range(40) for r in ranks]
        lines += [DIED.format(n=n, pid=9000 + r, r=r) for r in ranks]
        (folder / f"train-node0{n}.log").write_text("\n".join(lines) + "\n")
    (folder / "dmesg-node01.log").write_text(KERNEL)


def test_dmesg_with_iso_times_names_no_host(tmp_path: Path) -> None:
    write(tmp_path)
    job = read(tmp_path)
    found = appraise(job.snapshot(), load())
    assert "pcieport" not in job.snapshot().nodes
    assert found.nodes[0].node == "node01"
    assert {reason.kind for reason in found.nodes[0].reasons} == {"hardware"}


def test_an_address_on_the_bus_is_the_rank_that_uses_it(tmp_path: Path) -> None:
    write(tmp_path, first=USES)  # 19, 2a, 3b …: the third GPU of each node
    found = appraise(read(tmp_path).snapshot(), load())
    assert (found.ranks[0].rank, found.nodes[0].node) == (10, "node01")
    assert "hardware" in {reason.kind for reason in found.ranks[0].reasons}


def test_addresses_as_drivers_and_nccl_write_them() -> None:
    written = (pci_bus("0000:3b:00.0"), pci_bus("3B:00"), pci_bus("00000000:3B:00.0"), nccl_bus("3b000"))
    assert set(written) == {(0, 0x3B, 0)}
    assert nccl_bus("1003b010") == pci_bus("0100:3b:01.0") == (0x100, 0x3B, 1)
    assert pci_bus("mlx5_0") is pci_bus("") is None
