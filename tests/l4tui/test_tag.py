"""l4tui.tag: every line of a process carries its rank, whoever writes it; importing it changes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging, os, subprocess, sys, threading, warnings
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
import l4tui.tag
{install}
log = logging.getLogger("some.library")
for step in range(3):
    l4tui.tag.iteration(step)
    log.info("step %d", step, extra={{"rank": "theirs"}})
    print("bare", step)
    l4tui.tag.log(loss=2.5 / (step + 1), phase="warm up", ok=True, n=step)
warnings.warn("careful")
with l4tui.tag.tags(part="eval"):
    log.warning("of two\\nlines")
os.write(1, b"past python\\n")
subprocess.run(["echo", "a child"])
thread = threading.Thread(target=lambda: log.info("in a thread"))
thread.start()
thread.join()
sys.stderr.write("no newline")
sys.stderr.write(" yet\\n")
raise ValueError("at the end")
"""
TAG = "[l4 rank=3 local=1 node=n12"


def run(folder: Path, *words: str, install: str = "l4tui.tag.install()", **environ: str) -> list[str]:
    script = folder / "train.py"
    script.write_text(SCRIPT.format(install=install))
    base = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "L4TUI", "OMPI", "PMI"))}
    done = subprocess.run(
        [sys.executable, *words, str(script)],
        env=base | {"SLURMD_NODENAME": "n12.cluster"} | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    return done.stdout.splitlines()


@pytest.mark.parametrize("way", ["install", "module"])
def test_every_line_is_tagged(way: str, tmp_path: Path) -> None:
    words, install = ((), "l4tui.tag.install()") if way == "install" else (("-m", "l4tui.tag"), "")
    lines = run(tmp_path, *words, install=install, RANK="3", LOCAL_RANK="1")
    assert all(line.startswith(TAG) and line.count("[l4 ") == 1 for line in lines), lines
    texts = [line.split("] ", 1)[1] for line in lines]
    assert sum(text.endswith("INFO some.library: step 2") for text in texts) == 1
    assert 'telemetry loss=1.25 phase="warm up" ok=True n=1' in texts
    for text in ("bare 2", "past python", "a child", "no newline yet", "ValueError: at the end", "lines"):
        assert text in texts
    of_thread = next(line for line in lines if "in a thread" in line)
    assert of_thread.startswith(f"{TAG} iter=2] ")
    assert next(line for line in lines if "of two" in line).startswith(f"{TAG} iter=2 part=eval] ")


def test_the_engine_attributes_every_line(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    lines = [line for rank in range(3) for line in run(tmp_path, RANK=str(rank), LOCAL_RANK=str(rank))]
    log.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "l4tui", "export", "--no-cache", str(log)], capture_output=True, text=True, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(lines)
    assert {(row["rank"], row["local_rank"], row["node"]) for row in rows} == {(r, r, "n12") for r in range(3)}
    assert next(row for row in rows if row["text"] == "bare 1")["iteration"] == 1


WORKERS = """
import multiprocessing, os, sys
import l4tui.tag
l4tui.tag.install()

def work(number):
    print("worker", number)
    os.write(2, b"past python\\n")

if __name__ == "__main__":
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child is left to wait for")
    for method in ("fork", "spawn"):
        children = [multiprocessing.get_context(method).Process(target=work, args=(n,)) for n in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
    for number in range(20_000):
        print("line", number, "x" * 60)
"""


def test_workers_and_many_lines(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WORKERS)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True,
        env=os.environ | {"RANK": "3", "LOCAL_RANK": "1", "SLURMD_NODENAME": "n12"},
    )  # fmt: skip
    out, err = done.stdout.splitlines(), done.stderr.splitlines()
    assert all(line.startswith(f"{TAG}] ") for line in out + err)
    texts = [line.split("] ", 1)[1] for line in out]
    assert sorted(text for text in texts if "worker" in text) == [f"worker {n}" for n in (0, 0, 1, 1, 2, 2)]
    assert "no child is left to wait for" in texts
    assert [text.split()[1] for text in texts if text.startswith("line")] == [str(n) for n in range(20_000)]
    assert len(err) == 6


def test_a_terminal_that_a_launcher_reads_is_tagged(tmp_path: Path) -> None:
    ours, theirs = os.openpty()  # as Open MPI gives its ranks; nobody's controlling terminal
    script = "import os, sys, l4tui.tag; l4tui.tag.install(); os.write(1, b'past python\\n'); print('printed')"
    subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"RANK": "3", "LOCAL_RANK": "1", "SLURMD_NODENAME": "n12"},
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True, check=True, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError), os.fdopen(ours, "rb", 0) as reader:  # EIO: all writers are gone
        while piece := reader.read(4096):
            said += piece
    assert sorted(said.decode().replace("\r", "").splitlines()) == [f"{TAG}] past python", f"{TAG}] printed"]


def test_without_a_rank_nothing_is_changed(tmp_path: Path) -> None:
    lines = run(tmp_path, SLURMD_NODENAME="n12")
    assert not any("[l4 " in line for line in lines if "telemetry" not in line)


def test_importing_changes_nothing_and_loads_little() -> None:
    code = (
        "import sys, logging; before = (sys.stdout, logging.getLogRecordFactory(), sys.excepthook);"
        "import l4tui.tag; assert before == (sys.stdout, logging.getLogRecordFactory(), sys.excepthook);"
        "assert not {'numpy', 'textual', 'subprocess', 'l4tui.engine'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_stands_alone(tmp_path: Path) -> None:
    """The file works where l4tui is not installed: that is how `l4tui run` uses it."""
    import l4tui.tag

    (tmp_path / "tag.py").write_bytes(Path(l4tui.tag.__file__).read_bytes())
    code = "import tag; tag.install(); print('x')"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, env=os.environ | {"RANK": "7", "LOCAL_RANK": "0"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("[l4 rank=7 local=0 node=")
