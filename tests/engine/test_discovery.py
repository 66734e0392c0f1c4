"""What is a log, which files are one job, and what is left out."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest

from l4tui.engine import mirrors
from l4tui.engine.discovery import discover
from l4tui.engine.grouping import group, job_id
from l4tui.engine.sniff import Content, content_of
from l4tui.engine.sources import Source, SourceError, open_path

NAN = (float("nan"), float("nan"))


def make(root: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.mark.parametrize(
    "name, head, content",
    [
        ("job.log", b"[rank0]: hello\n", Content.LOG),
        ("stdout", b"", Content.LOG),
        ("stdout", b"hello\n", Content.LOG),
        ("slurm-17.out", b"#!/bin/bash\n# printed by set -v\n", Content.LOG),
        ("slurm-17.out", "损失 2.5\n".encode("gbk"), Content.LOG),
        ("job.log", b"\0" * 100 + b"text after a hole\n" * 9, Content.LOG),
        ("job.log", b"\x1b[36m(Worker pid=1)\x1b[0m hi\r 5%\r\n", Content.LOG),
        ("metrics.json", b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.4}\n', Content.LOG),
        ("one.json", b'{"time": "2024-05-01", "level": "INFO", "msg": "hi"}\n', Content.LOG),
        ("error.json", b'{"message": {"message": "boom", "extraInfo": {}}}', Content.JSON),
        ("config.json", b'{\n  "lr": 0.1\n}\n', Content.JSON),
        ("config", b'{\n  "lr": 0.1\n}\n', Content.JSON),
        ("out.txt", b"[1,0]<stdout>: hi\n", Content.LOG),
        ("run", b"#!/bin/bash\nsrun python train.py\n", Content.SCRIPT),
        ("job.sbatch", b"#!/bin/bash\n#SBATCH -N2\n", Content.SCRIPT),
        ("train.py", b"import torch\n", Content.PROGRAM),
        ("config.yaml", b"lr: 0.1\n", Content.SETTINGS),
        ("gpu.csv", b"index,util\n0,99\n", Content.TABLE),
        ("requirements.txt", b"torch==2.3\n", Content.DOCUMENT),
        ("events.out.tfevents.171.host.1.0", b"\x18\0\0\0\0\0\0\0", Content.EVENTS),
        ("model.pt", b"PK\x03\x04\0\0", Content.CHECKPOINT),
        ("rng", pickle.dumps({"a": [1, 2]}), Content.PICKLE),
        ("_dump_12", pickle.dumps([1]), Content.PICKLE),
        ("core.123", b"\x7fELF\x02\x01", Content.BINARY),
        ("noise.log", bytes(range(256)) * 16, Content.BINARY),
        ("utf16.log", "hello\n".encode("utf-16"), Content.UTF16),
    ],
)
def test_content(name, head, content):
    assert content_of(name, head, len(head)) is content


def test_a_folder_with_things_beside_the_logs(tmp_path):
    make(
        tmp_path,
        {
            "rank-10.log": "hello\n",
            "rank-2.log": "hello\n",
            "sub/old.log.gz": gzip.compress(b"packed\n"),
            "sub/tree.tar.gz": gzip.compress(b"a" * 257 + b"ustar" + b"\0" * 90),
            "run.sh": "#!/bin/sh\n",
            ".hidden": "x\n",
            "ckpt/model.safetensors": b"\x10\0\0\0\0\0\0\0{}",
        },
    )
    (tmp_path / "latest.log").symlink_to("rank-2.log")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(".")
    found = discover([f"{tmp_path}/"])
    job = found.choose(0)
    assert [os.path.relpath(source.path, tmp_path) for source in job.sources] == [
        "latest.log",
        "rank-10.log",
        "sub/old.log.gz",
    ]
    assert [source.index for source in job.sources] == [0, 1, 2]
    why = {os.path.relpath(left.path, tmp_path): left.why for left in found.left_out}
    assert why.pop("rank-2.log").startswith("same file as")
    assert why == {
        ".hidden": "hidden",
        "broken": "broken link",
        "run.sh": "script",
        "ckpt/model.safetensors": "checkpoint",
        "sub/tree.tar.gz": "archive",
    }


def test_paths_are_spelled_as_given(tmp_path, monkeypatch):
    make(tmp_path, {"logs/a/x.log": "1\n", "logs/y.log": "2\n"})
    monkeypatch.chdir(tmp_path)
    assert [source.path for source in discover(["logs"]).order] == ["logs/y.log", "logs/a/x.log"]
    assert [source.path for source in discover(["."]).order] == ["./logs/y.log", "./logs/a/x.log"]
    assert [source.path for source in discover(["logs/*.log"]).order] == ["logs/y.log"]
    assert [source.path for source in discover(["logs/**/*.log"]).order] == ["logs/a/x.log", "logs/y.log"]


def test_what_cannot_be_looked_at_is_left_out(tmp_path):
    make(tmp_path, {"rank_0.log": "hello\n"})
    (tmp_path / "rank_1.log").symlink_to("rank_2.log")
    (tmp_path / "rank_2.log").symlink_to("rank_1.log")
    for path in (tmp_path, tmp_path / "*.log"):
        found = discover([str(path)])
        assert [Path(source.path).name for source in found.order] == ["rank_0.log"]
        assert [Path(left.path).name for left in found.left_out] == ["rank_1.log", "rank_2.log"]
        assert "link" in found.left_out[0].why


def test_several_paths_are_one_job_in_their_order(tmp_path):
    make(tmp_path, {"slurm-2.out": "2\n", "slurm-1.out": "1\n", "more/slurm-3.out": "3\n", "run.sh": "#!/bin/sh\n"})
    names = ["slurm-2.out", "run.sh", "more", "slurm-1.out", "slurm-2.out"]
    found = discover([str(tmp_path / name) for name in names])
    assert len(found.jobs) == 1
    assert [Path(s.path).name for s in found.choose(0).sources] == ["slurm-2.out", "slurm-3.out", "slurm-1.out"]
    assert [Path(left.path).name for left in found.left_out] == ["run.sh"]


def test_a_script_named_alone_is_what_is_wanted(tmp_path):
    make(tmp_path, {"run.sh": "#!/bin/sh\n"})
    assert len(discover([str(tmp_path / "run.sh")]).order) == 1


@pytest.mark.parametrize(
    "files, path, words",
    [
        ({}, "missing.log", "no such file"),
        ({}, "*.log", "nothing matches"),
        ({"x": b"\x7fELF"}, "x", "no log: binary"),
        ({"d/x.pt": b"PK\x03\x04"}, "d", "checkpoint"),
        ({"d/e/.keep": b""}, "d", "no log"),
    ],
)
def test_nothing_to_read_is_one_line(tmp_path, monkeypatch, files, path, words):
    make(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=words) as error:
        discover([path])
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_said(tmp_path):
    make(tmp_path, {"a.log": "1\n", "b.log": "2\n"})
    (tmp_path / "b.log").chmod(0)
    found = discover([str(tmp_path)])
    assert [left.why for left in found.left_out] == ["permission denied"]
    with pytest.raises(SourceError, match="permission denied"):
        discover([str(tmp_path / "b.log")])


@pytest.mark.parametrize(
    "path, job",
    [
        ("slurm-17.out", "17"),
        ("logs/job-17-3-n0.err", "17"),
        ("step-17.2-0-1.out", "17"),
        ("train.o4711", "4711"),
        ("sweep-18_2.log", "18"),
        ("logs/n0/myrun_ab12cd34/attempt_0/3/stdout.log", "myrun"),
        ("logs/none_ab12cd34/attempt_0/3/stdout.log", ""),
        ("rank-17.log", ""),
        ("ip-10-0-20-17.log", ""),
        ("worker-12345.log", ""),
        ("log_rank_4_1.log", ""),
        ("step_100.log", ""),
    ],
)
def test_job_ids_in_names(path, job):
    assert job_id(path) == job


def test_jobs_by_id_in_one_folder(tmp_path):
    make(
        tmp_path,
        {"slurm-17.out": "a\n", "job-17-0.out": "b\n", "job-17-1.out": "c\n", "slurm-18.out": "d\n", "d/x.log": "e\n"},
    )
    for name, when in {"slurm-18.out": 2e9, "job-17-1.out": 1.9e9, "d/x.log": 1e9}.items():
        os.utime(tmp_path / name, (when, when))
    found = discover([str(tmp_path)])
    assert [(job.name, len(job.sources)) for job in found.jobs] == [("job 18", 1), ("job 17", 3), ("others", 1)]
    assert len(found.whole().sources) == 5
    assert [source.index for source in found.whole().sources] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "times, groups",
    [
        ({"run_1": (0, 900), "run_2": (1000, 2000)}, 2),
        ({"run_1": (0, 900), "run_2": (3, 2000)}, 1),  # two nodes of a job, named by their start
        ({"alpha": (0, 900), "beta": (1000, 2000)}, 2),
        ({"alpha": (0, 900), "beta": (800, 2000)}, 1),
        ({"alpha": NAN, "beta": (800, 2000)}, 1),
        ({"node1": (0, 900), "node2": (1000, 2000)}, 1),
        ({"0": (0, 900), "1": (1000, 2000)}, 1),
        ({"4711001": (0, 900), "4711002": (1000, 2000)}, 2),
        ({"2024-05-01_10-00": (0, 900), "2024-05-02_10-00": (86400, 90000)}, 2),
    ],
)
def test_folders_are_jobs_or_parts_of_one(times, groups):
    paths = [f"{folder}/rank{rank}.log" for folder in times for rank in range(2)]
    spans = [span for span in times.values() for _ in range(2)]
    found = group(paths, lambda i: spans[i])
    assert len(found) == groups
    assert sorted(i for _, members in found for i in members) == list(range(4))


def test_process_ids_begin_together(tmp_path):
    paths = ["train-12345.log", "train-12346.log"]
    assert len(group(paths, lambda i: (i, 900))) == 1
    assert len(group(paths, lambda i: (i * 1000, 9000))) == 2


# mirrors


def stamped(rank: int, count: int = 60) -> list[str]:
    return [
        f"2024-05-01 10:00:{n % 60:02},{rank * 7 + n:03} INFO step {n} loss {2 - n / 100:.2f}" for n in range(count)
    ]


def tree(tmp_path: Path, ranks: int = 4, tail: str = "") -> tuple[Path, list[str]]:
    """Per-rank files of a torchrun log folder, and the console of --tee over them."""
    console = ["torchrun starting"] + [f"[default{r}]:{stamped(r)[n]}" for n in range(60) for r in range(ranks)]
    files = {f"logs/job_ab12cd34/attempt_0/{r}/stderr.log": "\n".join(stamped(r)) + "\n" + tail for r in range(ranks)}
    make(tmp_path, files)
    return tmp_path, console


def mirrored(root: Path) -> dict[str, str]:
    found = discover([str(root)])
    with pytest.MonkeyPatch.context() as patch:
        several = []
        for many in (0, mirrors.MANY_FILES):  # whatever is kept of the files' lines
            patch.setattr(mirrors, "MANY_FILES", many)
            pairs = found.choose(0).mirrors().items()
            several.append({os.path.relpath(a, root): os.path.relpath(b, root) for a, b in pairs})
    assert several[0] == several[1]
    return several[0]


def test_console_of_tee_is_a_mirror_of_the_files(tmp_path):
    root, console = tree(tmp_path, tail="RuntimeError: lost in the tee\n")
    make(root, {"console.log": "\n".join(console) + "\n"})
    assert mirrored(root) == {"console.log": "logs/job_ab12cd34/attempt_0/0/stderr.log"}
    assert [bool(s.mirror_of) for s in discover([str(root)]).choose(0).sources] == [True] + [False] * 4


def test_console_with_a_rank_that_has_no_file_is_none(tmp_path):
    root, console = tree(tmp_path)
    console += [f"[default4]:{line}" for line in stamped(4)]
    make(root, {"console.log": "\n".join(console) + "\n"})
    assert "console.log" not in mirrored(root)


def test_console_of_another_run_is_none(tmp_path):
    root, console = tree(tmp_path)
    make(root, {"console.log": "\n".join(console).replace("10:00", "10:01") + "\n"})
    assert mirrored(root) == {}


def test_file_handler_beside_a_fuller_console(tmp_path):
    root, console = tree(tmp_path)
    console += [f"[default{r}]:Traceback line {n} of rank {r}" for r in range(4) for n in range(60)]
    make(root, {"console.log": "\n".join(console) + "\n"})
    assert set(mirrored(root).values()) == {"console.log"}
    assert len(mirrored(root)) == 4


def test_ranks_with_the_same_text_are_no_mirrors(tmp_path):
    text = "\n".join(f"step {n} loss 2.5" for n in range(100)) + "\n"
    make(tmp_path, {f"rank-{r}.log": text for r in range(16)})
    assert mirrored(tmp_path) == {}
    make(tmp_path, {"job.log": text})  # rank 0's console: it may mirror one file, or be one's mirror, not sixteen
    assert len(mirrored(tmp_path)) <= 1


def test_copies(tmp_path):
    text = "\n".join(stamped(0)) + "\n"
    make(tmp_path, {"job.log": text, "saved.log": text, "rank-0.log": "other\n"})
    assert mirrored(tmp_path) == {"saved.log": "job.log"}


def test_left_out_json_is_valid_json(tmp_path):
    make(tmp_path, {"a.log": "x\n", "b.json": json.dumps({"a": 1}, indent=1)})
    assert [left.content for left in discover([str(tmp_path)]).left_out] == [Content.JSON]


def test_files_of_one_size_are_read_at_their_ends_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks say the same lines, so thousands of files have one size; to read them all takes as long as indexing."""
    for rank in range(8):
        text = "".join(f"10:00:{k % 60:02}.{rank}{k % 100:02} step {k:05} took 17 ms\n" for k in range(3000))
        (tmp_path / f"rank_{rank}.log").write_text(text)
    read: list[int] = []
    pread = Source.pread

    def counting(self: Source, offset: int, length: int) -> bytes:
        data = pread(self, offset, length)
        read.append(len(data))
        return data

    monkeypatch.setattr(Source, "pread", counting)
    assert mirrors.find_mirrors([open_path(str(path)) for path in sorted(tmp_path.iterdir())]) == {}
    assert sum(read) < 8 * (1 << 13)
