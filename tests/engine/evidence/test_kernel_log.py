"""A kernel's log beside the job's counts as a reason, for the node that its name tells."""

from __future__ import annotations

from pathlib import Path

from l4tui.engine.appraisal import appraise
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


def test_dmesg_with_iso_times_names_no_host(tmp_path: Path) -> None:
    for n in range(2):
        ranks = range(8 * n, 8 * n + 8)
        lines = [STEP.format(n=n, pid=9000 + r, r=r, i=i) for i in range(40) for r in ranks]
        lines += [DIED.format(n=n, pid=9000 + r, r=r) for r in ranks]
        (tmp_path / f"train-node0{n}.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "dmesg-node01.log").write_text(KERNEL)
    job = read(tmp_path)
    found = appraise(job.snapshot(), load())
    assert "pcieport" not in job.snapshot().nodes
    assert found.nodes[0].node == "node01"
    assert {reason.kind for reason in found.nodes[0].reasons} == {"hardware"}
