"""Lines of those who tell of steps that they were told of: in which iteration they stand, other lines say."""

import pytest

from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.model import Marker

PARSER = Parser(Dialect())
TOLD = (
    "Step must only increase in log calls.  Step 1 < 110; dropping {'loss': 2.1}.",
    "(User provided step: 1 is less than current step: 110. Dropping entry: {'loss': 2.1}).",
    "  global_step 110",
    "step 12 loss 2.3",
)


@pytest.mark.parametrize("text", TOLD)
def test_wandb_tells_of_steps(text: str) -> None:
    for front in ("wandb: ", "wandb: WARNING "):
        parse = PARSER.parse((front + text).encode())
        assert parse.marker is Marker.NONE and "iter" not in {span.field for span in parse.spans}


def test_the_same_of_a_logger_that_trains() -> None:
    assert PARSER.parse(b"trainer: step 12 loss 2.3").marker is Marker.CLOSE
    assert PARSER.parse(b"step 12 loss 2.3 wandb: on").marker is Marker.CLOSE
