"""Whole lines out of a source: none lost, none doubled, whatever the sizes of reads, lines and growth."""

import os
import tempfile
from itertools import pairwise
from pathlib import Path
from threading import Event

from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.blocks import MANY, PEEKED, blocks, cuts
from l4tui.engine.sources import open_path

TEXT = st.lists(st.sampled_from([b"", b"x", b"step 1 loss 2.5", b"\r50%\r", b"\x00\xff", b"y" * 40]), max_size=30)


@given(lines=TEXT, torn=st.binary(max_size=9), size=st.integers(1, 64), longest=st.integers(8, 64), seed=st.data())
def test_growing_file_is_read_line_by_line(lines, torn, size, longest, seed):
    content = b"".join(line + b"\n" for line in lines) + torn.replace(b"\n", b"")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        path.write_bytes(b"")
        source = open_path(str(path))
        at, continues, got = 0, False, []
        written = 0
        while True:
            step = seed.draw(st.integers(1, 80))
            with path.open("ab") as file:
                file.write(content[written : written + step])
            written = min(len(content), written + step)
            last = written == len(content)
            for block in blocks(source, at, size=size, longest=longest, final=last, continues=continues):
                assert block.offset == at
                assert block.continues == continues
                assert block.unfinished or last or block.data.endswith(b"\n")
                if block.unfinished or block.continues:
                    assert block.data.find(b"\n") in (-1, len(block.data) - 1)
                got.append(block.data)
                at, continues = block.end, block.unfinished
            if last:
                break
        source.close()
        assert b"".join(got) == content


@given(lines=TEXT, parts=st.integers(1, 9), size=st.integers(4, 64), more=st.integers(0, 64))
def test_ranges_together_are_the_whole(lines, parts, size, more):
    longest = size + more
    content = b"".join(line + b"\n" for line in lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        path.write_bytes(content)
        source = open_path(str(path))
        edges = cuts(source, 0, len(content), parts, longest)
        got = [
            block
            for (a, inside), (b, _) in pairwise(edges)
            for block in blocks(source, a, b, size=size, longest=longest, continues=inside)
        ]
        assert b"".join(block.data for block in got) == content
        assert all(content[edge - 1 : edge] in (b"", b"\n") for edge, inside in edges if not inside)
        whole = list(blocks(source, size=size, longest=longest))
        assert [block.offset for block in got if block.continues] == [b.offset for b in whole if b.continues]
        source.close()


def test_a_line_of_gigabytes_comes_in_pieces(tmp_path):
    path = tmp_path / "one.log"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 200 << 20)
    source = open_path(str(path))
    sizes = [(len(block.data), block.continues, block.unfinished) for block in blocks(source, final=True)]
    assert sizes[0] == (16 << 20, False, True)
    assert all(size <= 16 << 20 for size, _, _ in sizes)
    assert sum(size for size, _, _ in sizes) == 200 << 20
    assert not sizes[-1][2] or len(sizes) == 13


def test_stop_ends_within_a_block(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"line\n" * 1000)
    stop = Event()
    reading = blocks(open_path(str(path)), size=50, stop=stop)
    next(reading)
    stop.set()
    assert list(reading) == []


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([0, 100, PEEKED - 1, PEEKED, 3 * PEEKED, MANY]), max_size=60), st.booleans())
def test_large_blocks_end_with_the_last_line_that_is_whole(lengths, torn):
    content = b"".join(b"x" * length + b"\n" for length in lengths) + b"end" * torn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        path.write_bytes(content)
        source = open_path(str(path))
        got = [block.data for block in blocks(source, size=2 * MANY, final=True)]
        source.close()
    assert b"".join(got) == content
    for data, following in pairwise(got):
        assert data.endswith(b"\n")
        assert following == b"end" or len(data) + following.find(b"\n") + 1 > 2 * MANY
