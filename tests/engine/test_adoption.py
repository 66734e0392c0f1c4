"""Adoption: the rest of a message follows the header in front of it, in any cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.adoption import Adoption, LaneKind, adopt
from l4tui.engine.model import LineClass as C

SOURCE, HEADER, PREFIX = LaneKind


def lanes(*rows: tuple[int, C, LaneKind]) -> list[int]:
    """Return the lanes after adoption of (lane, class, kind) rows."""
    lane, cls, kind = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    return adopt(lane, cls, kind, [Adoption()]).tolist()


def test_the_rest_of_a_message_follows_its_header() -> None:
    rest = [(0, C.BODY, SOURCE), (0, C.BLANK, SOURCE), (0, C.BODY, SOURCE)]
    assert lanes((5, C.HEAD, HEADER), *rest, (0, C.PLAIN, SOURCE), (0, C.BODY, SOURCE)) == [5, 5, 5, 5, 0, 0]


def test_an_open_traceback_keeps_its_lines() -> None:
    assert lanes((0, C.TRACEBACK, SOURCE), (5, C.HEAD, HEADER), (0, C.BODY, SOURCE)) == [0, 5, 0]
    assert lanes((0, C.RAISED, SOURCE), (5, C.HEAD, HEADER), (0, C.BODY, SOURCE)) == [0, 5, 5]


def test_prefixes_give_nothing_away() -> None:
    assert lanes((5, C.HEAD, PREFIX), (0, C.BODY, SOURCE)) == [5, 0]


ROWS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(list(C))), max_size=50)


@given(ROWS, st.lists(st.integers(1, 7), max_size=50))
def test_any_cut_gives_the_same_lanes(rows: list[tuple[int, C]], cuts: list[int]) -> None:
    lane = np.array([row[0] for row in rows], np.int64)
    cls = np.array([row[1] for row in rows], np.int64)
    kind = np.array([SOURCE, SOURCE, HEADER, HEADER, PREFIX])[lane]
    whole = adopt(lane, cls, kind, [Adoption()])
    carry, at, parts = Adoption(), 0, [np.zeros(0, np.int64)]
    for size in [*cuts, len(rows)]:
        parts.append(adopt(lane[at : at + size], cls[at : at + size], kind[at : at + size], [carry]))
        at += size
    assert np.concatenate(parts).tolist() == whole.tolist()
