"""The logs of a Slurm job: what scontrol prints, patterns, srun lines, and every reason why there is no file."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from l4tui.exits import UsageError
from l4tui.slurm import expand, log_paths, read_jobs, srun_patterns

BATCH = (
    "JobId=17 JobName=pre train UserId=ana(1000) GroupId=ana(1000) JobState=RUNNING Reason=None BatchFlag=1 "
    "NodeList=n[0-1] NumTasks=8 TRES=cpu=8,mem=4G Command=/home/ana/run me.sh lr=3 WorkDir={here} "
    "StdErr={here}/logs/17.err StdIn=/dev/null StdOut={here}/slurm-17.out Power="
)


class Slurm:
    """Stands in for scontrol; remembers what it was asked."""

    def __init__(self, jobs: str, script: str | None = None) -> None:
        self.jobs, self.script, self.asked = jobs, script, list[list[str]]()

    def __call__(self, words: Sequence[str]) -> str:
        self.asked.append(list(words))
        if words[1] == "show":
            return self.jobs
        if self.script is None:
            raise UsageError("scontrol: Access/permission denied")
        return self.script


def test_values_hold_spaces_and_equal_signs() -> None:
    (job,) = read_jobs(BATCH.format(here="/w") + "\n")
    assert job["JobName"] == "pre train"
    assert job["Command"] == "/home/ana/run me.sh lr=3"
    assert job["TRES"] == "cpu=8,mem=4G"
    assert (job["StdOut"], job["WorkDir"], job["Power"]) == ("/w/slurm-17.out", "/w", "")


def test_a_batch_job(tmp_path: Path) -> None:
    (tmp_path / "slurm-17.out").touch()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "17.err").touch()
    (tmp_path / "step-3.txt").touch()
    script = '#!/bin/bash\nsrun -n8 \\\n  --output="step-%t.txt" -e $HOME/%t.err train.py\n# srun -o slurm-17.out x\n'
    slurm = Slurm(BATCH.format(here=tmp_path), script)
    paths = log_paths("17", slurm)
    assert paths == [f"{tmp_path}/slurm-17.out", f"{tmp_path}/logs/17.err", f"{tmp_path}/step-*.txt"]
    assert slurm.asked == [["scontrol", "show", "job", "-o", "17"], ["scontrol", "write", "batch_script", "17", "-"]]
    assert log_paths("17", Slurm(BATCH.format(here=tmp_path)))[1:] == [f"{tmp_path}/logs/17.err"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("slurm-%j.out", "slurm-21.out"),
        ("%x-%A_%a.log", "na[m]e-18_3.log"),
        ("%4j_%04a", "0021_0003"),
        ("%u/100%%", "ana/100%"),
        ("job-%j-%t-%N.out", "job-21-*-*.out"),
        ("[x]%j-%t", "[[]x]21-*"),
        ("what?.out", "what?.out"),
        ("plain", "plain"),
    ],
)
def test_patterns(pattern: str, expected: str) -> None:
    job = {"JobId": "21", "ArrayJobId": "18", "ArrayTaskId": "3", "JobName": "na[m]e", "UserId": "ana(1000)"}
    assert expand(pattern, job) == expected


@pytest.mark.parametrize(
    ("script", "patterns"),
    [
        ("srun --output=a.%t b", ["a.%t"]),
        ("srun -o a -e b c", ["a", "b"]),
        ("srun -oa.log c", ["a.log"]),
        ("time srun --error 'x y' c && srun --output q d", ["x y", "q"]),
        ("#SBATCH --output=no\n#srun -o no x\necho srunner -o no", []),
        ("srun 'open quote -o x", []),
    ],
)
def test_srun_lines(script: str, patterns: list[str]) -> None:
    assert list(srun_patterns(script)) == patterns


def fails(job_id: str, slurm: Slurm, here: Path, *words: str) -> None:
    with pytest.raises(UsageError) as caught:
        log_paths(job_id, slurm, here)
    for word in words:
        assert word in str(caught.value)


def test_why_there_is_no_file(tmp_path: Path) -> None:
    fails("17; rm", Slurm(""), tmp_path, "is no Slurm job id")
    fails("-17", Slurm(""), tmp_path, "is no Slurm job id")
    fails("17", Slurm(""), tmp_path, "says nothing about job 17")
    pending = "JobId=9 JobState=PENDING BatchFlag=1 WorkDir=/w StdOut=/w/slurm-9.out"
    fails("9", Slurm(pending), tmp_path, "job 9 is pending", "/w/slurm-9.out does not exist")
    fails("8", Slurm("JobId=8 JobState=RUNNING BatchFlag=0 WorkDir=/w"), tmp_path, "started by srun itself")
    rows = [f"JobId={20 + n} ArrayJobId=18 ArrayTaskId={n} JobState=RUNNING" for n in range(2)]
    fails("18", Slurm("\n".join(rows)), tmp_path, "array", "18_0 (running)", "18_1")


def test_a_job_that_slurm_has_forgotten(tmp_path: Path) -> None:
    def forgotten(words: Sequence[str]) -> str:
        raise UsageError("scontrol: slurm_load_jobs error: Invalid job id specified")

    with pytest.raises(UsageError, match=r"Invalid job id specified \(Slurm forgets"):
        log_paths("17", forgotten, tmp_path)
    (tmp_path / "slurm-17.out").touch()
    assert log_paths("17", forgotten, tmp_path) == ["slurm-17.out"]


def test_parts_of_a_heterogeneous_job_belong_together(tmp_path: Path) -> None:
    for n in range(2):
        (tmp_path / f"{n}.out").touch()
    rows = [f"JobId={5 + n} HetJobId=5 HetJobOffset={n} WorkDir={tmp_path} StdOut={tmp_path}/{n}.out" for n in range(2)]
    assert log_paths("5", Slurm("\n".join(rows)), tmp_path) == [f"{tmp_path}/0.out", f"{tmp_path}/1.out"]


def test_without_slurm_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="scontrol is not here"):
        log_paths("17", here=tmp_path)


def slurm_is_up() -> bool:
    if not shutil.which("sbatch"):
        return False
    said = subprocess.run(["scontrol", "ping"], capture_output=True, text=True, timeout=30).stdout
    return "is UP" in said


@pytest.mark.slow
def test_with_a_real_slurm(tmp_path: Path) -> None:
    if not slurm_is_up():
        pytest.skip("no Slurm here (SLURM_CONF names a running one)")
    script = "#!/bin/bash\necho start\nsrun -n2 --output=step-%j-%t.txt hostname\n"
    words = ["sbatch", "--parsable", "-n2", "--array=0-1", "-o", "%x-%A_%a.log", "-J", "sweep"]
    done = subprocess.run(words, input=script, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    job = done.stdout.strip()
    for _ in range(300):
        if len(list(tmp_path.glob("step-*-1.txt"))) == 2:
            break
        time.sleep(0.1)
    with pytest.raises(UsageError, match=f"job {job} is an array, name a task: {job}_0 .*, {job}_1 "):
        log_paths(job)
    log, steps = log_paths(f"{job}_1")
    assert log == f"{tmp_path}/sweep-{job}_1.log"
    assert len(list(tmp_path.glob(Path(steps).name))) == 2
