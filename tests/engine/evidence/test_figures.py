"""Numbers of many lines at once are those that the pattern finds in each."""

from __future__ import annotations

import math

import pytest

from l4tui.engine.evidence.figures import NUMBER, labels_in, numbers_in

LINES = {
    "step N/N loss: N.N lr: N.Ne-N": ["step 5/900 loss: 2.31 lr: 3.0e-05", "step 17/900 loss: 11.2071 lr: 1.5e-10"],
    "fwd -N.N ms, N%": ["fwd -3.5 ms, 7%", "fwd -1234567890.25 ms, 100%"],
    "rankN data_time=N.Ns": ["rank3 data_time=0.125s", "rank1023 data_time=17.5s"],
    "größe N.N": ["größe 1.5", "größe 22.75"],
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_values_are_those_of_each_line(lines: list[str]) -> None:
    slots = range(len(labels_in(lines[0])))
    found = numbers_in(lines, lines[0], list(slots)).tolist()
    assert found == [[float(text) for text in NUMBER.findall(line)] for line in lines]


def test_a_line_of_another_shape_has_none() -> None:
    (first, other) = numbers_in(["loss 1.5", "loss 1.5 of 3"], "loss 2.5", [0])[:, 0].tolist()
    assert first == 1.5 and math.isnan(other)


def test_texts_of_two_lines_have_none() -> None:
    assert all(math.isnan(v) for v in numbers_in(["loss 1.5\nx", "loss 2.5"], "loss 2.5", [0])[:, 0].tolist())


def test_labels_stand_in_front() -> None:
    assert labels_in("step 5: loss=2.5, 7") == ("step", "loss", "")
