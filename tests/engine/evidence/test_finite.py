"""Values that are not finite: number by number, and in which iteration an error of a rank that marks none ended."""

from __future__ import annotations

import pytest

from l4tui.engine.evidence.record import Said
from tests.engine.evidence.jobs import accused, closed, raised, said, told

EIGHT = range(8)
FORMS = (
    "step {n} loss={loss} gnorm={norm} data=1.0ms",
    '{{"event": "train_step", "step": {n}, "loss": {loss}, "norm": {norm}}}',
    "it {n} | |g| {norm} | loss {loss}",
)


def trained(form: str, who: set[int], since: int, quote: str = "") -> list[Said]:
    """Some ranks' loss is nan from a step on; the reduced norm is, at once, on all; the step after, everything."""
    nan = f"{quote}nan{quote}"
    out = []
    for n in range(1, since + 9):
        for rank in EIGHT:
            loss = nan if n > since or (n == since and rank in who) else f"{2.5 + 0.01 * ((n * 7 + rank) % 9):.4f}"
            norm = nan if n >= since else f"0.{n:03d}"
            out.append(said(rank, form.format(n=n, loss=loss, norm=norm), n, marked=True))
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_local_value_is_bad_where_the_reduced_one_is_bad_on_all(form: str, quote: str) -> None:
    found = told(trained(form, {5}, 21, quote))
    assert found.blame.accused == (5,)
    assert found.verdict.iteration == 21


@pytest.mark.parametrize("form", FORMS)
def test_what_is_bad_on_all_ranks_at_once_is_nobodys(form: str) -> None:
    assert accused(trained(form, set(EIGHT), 21)) == []


def test_who_marks_no_iteration_ended_in_the_one_that_nobody_finished() -> None:
    """What a peer had marked before may stand below the traceback: its output came late."""
    lines = [said(0, f" 10%|#  | {n}/90 [00:01<00:05, 9.1it/s]", n, marked=True) for n in range(1, 30)]
    fatal = raised(2, "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)", 29)
    late = [said(0, f" 10%|#  | {n}/90 [00:01<00:05, 9.1it/s]", n, marked=True) for n in range(30, 34)]
    found = told([*lines, *fatal, *late, *closed(0, 33), *closed(1, 33), *closed(3, 33)])
    assert found.blame.accused == (2,)
    assert found.verdict.iteration == 34
