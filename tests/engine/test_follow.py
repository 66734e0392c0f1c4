"""Following real files; the clock is given, so nothing sleeps but the tests of latency and events."""

import os
import random
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from l4tui.engine.blocks import blocks
from l4tui.engine.discovery import discover
from l4tui.engine.follow import ChangeKind, Follower
from l4tui.engine.sources import Source, open_path, open_pipe


class Reader:
    """Reads a source as the job does: whole lines behind what it has."""

    def __init__(self, source: Source) -> None:
        self.source, self.at, self.continues, self.text = source, 0, False, b""

    def read(self) -> bytes:
        for block in blocks(self.source, self.at, continues=self.continues):
            self.at, self.continues = block.end, block.unfinished
            self.text += block.data
        return self.text


class Scene:
    """A follower of one file with a clock of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = open_path(str(path))
        self.follower = Follower([self.source], wake=False)
        self.reader = Reader(self.source)
        self.now = 100.0
        self.notes: list[str] = []

    def pass_time(self, seconds: float) -> list[ChangeKind]:
        """Poll in steps of 0.2 s and read whatever is told; return the kinds of change in order."""
        kinds = []
        for _ in range(round(seconds / 0.2)):
            self.now += 0.2
            for change in self.follower.poll(self.now):
                kinds.append(change.kind)
                self.notes += [change.note] if change.note else []
                if change.kind is ChangeKind.GROWN:
                    self.reader.read()
        return kinds


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    path = tmp_path / "job.log"
    path.write_bytes(b"one\n")
    scene = Scene(path)
    scene.reader.read()
    scene.pass_time(6)
    return scene


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_growth_and_a_torn_last_line(scene):
    append(scene.path, b"two\nthr")
    assert scene.pass_time(5.2) == [ChangeKind.GROWN]
    assert scene.reader.text == b"one\ntwo\n"
    append(scene.path, b"ee\n")
    assert scene.pass_time(0.2) == [ChangeKind.GROWN]
    assert scene.reader.text == b"one\ntwo\nthree\n"


def test_nothing_happens(scene):
    assert scene.pass_time(60) == []


def test_a_quiet_file_is_followed_while_its_descriptor_is_lent_elsewhere(scene):
    scene.source.live.file.close()
    assert scene.pass_time(20) == []
    scene.source.live.file.close()
    append(scene.path, b"two\n")
    assert scene.pass_time(5.2) == [ChangeKind.GROWN]
    assert scene.reader.text == b"one\ntwo\n"


def test_a_quiet_file_that_is_rotated_is_left_for_the_new_one(scene):
    scene.pass_time(60)
    scene.path.rename(scene.path.with_suffix(".log.1"))
    scene.path.write_bytes(b"new\n")
    assert scene.pass_time(21) == [ChangeKind.ROTATED, ChangeKind.GROWN]
    assert scene.reader.text == b"one\nnew\n"


def test_rotation_reads_the_rest_of_the_old_file(scene):
    append(scene.path, b"two\n")
    scene.pass_time(6)
    scene.path.rename(scene.path.with_suffix(".log.1"))
    append(scene.path.with_suffix(".log.1"), b"late\ntor")
    scene.path.write_bytes(b"new\n")
    assert ChangeKind.ROTATED in scene.pass_time(3)
    assert scene.reader.text == b"one\ntwo\nlate\ntor\nnew\n"
    assert scene.notes == [f"{scene.path}: was rotated; a new file goes on"]
    append(scene.path, b"more\n")
    scene.pass_time(1)
    assert scene.reader.read().endswith(b"new\nmore\n")


def test_old_file_that_still_grows_is_not_left_at_once(scene):
    append(scene.path, b"two\n")
    scene.pass_time(6)
    old = scene.path.with_suffix(".log.1")
    scene.path.rename(old)
    scene.path.write_bytes(b"new\n")
    for number in range(5):
        append(old, b"late %d\n" % number)
        scene.pass_time(0.2)
    scene.pass_time(3)
    assert scene.reader.text == b"one\ntwo\n" + b"".join(b"late %d\n" % n for n in range(5)) + b"new\n"


def test_truncation(scene):
    scene.path.write_bytes(b"x\n")
    assert scene.pass_time(6) == [ChangeKind.TRUNCATED, ChangeKind.GROWN]
    assert scene.reader.text == b"one\nx\n"
    assert "was cut" in scene.notes[0]


def test_truncation_ends_a_line_that_was_shown_unfinished(scene):
    append(scene.path, b"tor")
    scene.pass_time(6)
    held = scene.reader
    for block in blocks(held.source, held.at, final=True):
        held.at, held.continues, held.text = block.end, True, held.text + block.data
    scene.path.write_bytes(b"x\n")
    scene.pass_time(6)
    assert held.text == b"one\ntor\nx\n"


def test_text_written_over_in_place(scene):
    with scene.path.open("r+b") as file:
        file.write(b"other text\n")
    assert scene.pass_time(6) == [ChangeKind.REPLACED, ChangeKind.GROWN]
    assert scene.reader.text == b"one\nother text\n"


def test_writer_that_keeps_its_position_leaves_no_nuls(scene):
    append(scene.path, b"x" * 100_000 + b"\n")
    scene.pass_time(6)
    before = scene.reader.text
    with scene.path.open("r+b") as writer:
        writer.seek(0, os.SEEK_END)
        os.truncate(scene.path, 0)
        writer.write(b"after\n")
    scene.pass_time(6)
    assert scene.reader.text.removeprefix(before).lstrip(b"\0") == b"after\n"
    assert len(scene.reader.text) < len(before) + 5000


def test_replacement(scene):
    other = scene.path.with_suffix(".new")
    other.write_bytes(b"fresh\n")
    other.replace(scene.path)
    assert ChangeKind.REPLACED in scene.pass_time(20)
    assert scene.reader.text == b"one\nfresh\n"


def test_removal_keeps_the_text_and_return_goes_on(scene):
    scene.path.unlink()
    assert scene.pass_time(20) == [ChangeKind.VANISHED]
    assert scene.source.pread(0, 4) == b"one\n"
    scene.path.write_bytes(b"again\n")
    assert ChangeKind.RETURNED in scene.pass_time(20)
    assert scene.reader.text == b"one\nagain\n"
    assert [note.rpartition(": ")[2] for note in scene.notes] == ["was removed", "was made anew"]


def test_cut_before_it_was_read_steps_over_what_is_lost(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"never read\n")
    scene = Scene(path)
    path.write_bytes(b"new\n")
    scene.pass_time(6)
    assert scene.reader.text == b"new\n"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
@example(149)  # rotated twice before a name that is seldom asked for would be
def test_no_line_lost_or_doubled_over_growth_and_rotation(tmp_path_factory, seed):
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("follow") / "job.log"
    path.write_bytes(b"")
    scene = Scene(path)
    expected, number, rotations, is_torn = b"", 0, 0, False
    for _ in range(40):
        if rng.random() < 0.1:
            scene.pass_time(0.2 * rng.randrange(3))
            rotations += 1
            path.rename(path.with_suffix(f".log.{rotations}"))
            path.write_bytes(b"")
            expected += b"\n" if is_torn else b""
            is_torn = False
            scene.pass_time(20)
        piece = b"".join(b"line %d\n" % n for n in range(number, number + rng.randrange(4)))
        if rng.random() < 0.3:
            piece += b"torn"
        number += 10
        append(path, piece)
        expected += piece
        is_torn = not expected.endswith(b"\n") if piece else is_torn
        scene.pass_time(0.2 * rng.randrange(3))
    append(path, b"\n")
    expected += b"\n"
    scene.pass_time(20)
    assert scene.reader.text == expected
    scene.source.close()


def test_new_files_appear_with_their_names(tmp_path):
    run = tmp_path / "run"
    for rank in range(2):
        (run / "attempt_0" / str(rank)).mkdir(parents=True)
        (run / "attempt_0" / str(rank) / "stdout.log").write_bytes(b"start\n")
    found = discover([str(run)])
    follower = Follower(found.choose(0).sources, found, wake=False)
    assert follower.poll(0.0) == []
    (run / "attempt_1" / "1").mkdir(parents=True)
    (run / "attempt_1" / "1" / "stdout.log").write_bytes(b"start\n")
    (run / "attempt_1" / "1" / "state.pt").write_bytes(b"\x80\x02}q")
    changes = follower.poll(6.0)
    assert [(c.kind, c.source.index) for c in changes] == [(ChangeKind.APPEARED, 2)]
    assert changes[0].source.path == str(run / "attempt_1" / "1" / "stdout.log")
    assert (changes[0].source.name.attempt, changes[0].source.name.local_rank) == (1, 1)
    assert follower.poll(12.0) == []


def test_a_glob_is_looked_at_again_and_other_jobs_stay_out(tmp_path):
    (tmp_path / "slurm-17.out").write_bytes(b"a\n")
    found = discover([str(tmp_path / "*.out")])
    follower = Follower(found.choose(0).sources, found, wake=False)
    follower.poll(0.0)
    (tmp_path / "slurm-18.out").write_bytes(b"other job\n")
    (tmp_path / "job-17-1.out").write_bytes(b"ours\n")
    (tmp_path / "slurm-17.out.1").write_bytes(b"a\n")
    changes = follower.poll(6.0)
    assert [Path(change.source.path).name for change in changes] == ["job-17-1.out"]


def test_older_parts_of_a_followed_log_are_not_new_logs(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"a\n")
    found = discover([str(tmp_path)])
    follower = Follower(found.choose(0).sources, found, wake=False)
    follower.poll(0.0)
    (tmp_path / "job.log.1").write_bytes(path.read_bytes())  # logrotate's copytruncate
    assert follower.poll(6.0) == []


def test_pipe_grows_and_ends():
    out, into = os.pipe()
    source = open_pipe(out)
    os.close(out)
    follower = Follower([source], wake=False)
    os.write(into, b"hello\n")
    kinds: list[ChangeKind] = []
    deadline = time.monotonic() + 5
    while ChangeKind.GROWN not in kinds and time.monotonic() < deadline:
        follower.wait(1)
        kinds += [change.kind for change in follower.poll(time.monotonic())]
    os.close(into)
    while ChangeKind.ENDED not in kinds and time.monotonic() < deadline:
        follower.wait(1)
        kinds += [change.kind for change in follower.poll(time.monotonic())]
    assert kinds == [ChangeKind.GROWN, ChangeKind.ENDED]
    assert follower.poll(time.monotonic()) == []


def test_events_bring_a_quiet_file_forward(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"one\n")
    source = open_path(str(path))
    follower = Follower([source])
    follower.poll(time.monotonic())
    deadline = time.monotonic() + 10
    while not any(thread.name == "l4tui-wake" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
    told = False
    while not told and time.monotonic() < deadline:  # until the watcher stands, writing tells nothing
        append(path, b"two\n")
        told = follower.wait(0.5)
    changes = follower.poll(time.monotonic())
    follower.close()
    assert told
    assert ChangeKind.GROWN in [change.kind for change in changes]
