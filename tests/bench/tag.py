"""Cost of l4tui.tag: a record of logging, plain and tagged.

usage: python -m tests.bench.tag
"""

from __future__ import annotations

import io
import logging
import time

import l4tui.tag

RECORDS = 50_000


def cost(logger: logging.Logger) -> float:
    """Return the µs of CPU that one record takes, the best of five."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for i in range(RECORDS):
            logger.info("step %d of %s", i, "training")
        best = min(best, (time.process_time() - began) / RECORDS)
    return best * 1e6


def main() -> None:
    """Print the table."""
    logger = logging.getLogger("bench")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    plain = cost(logger)
    l4tui.tag.install(rank=3, local_rank=3, streams=False, descriptors=False)
    l4tui.tag.iteration(7)
    handler.setStream(io.StringIO())
    tagged = cost(logger)
    handler.setStream(l4tui.tag._Stream(io.StringIO()))
    streamed = cost(logger)
    print(f"plain record       {plain:6.2f} µs")
    print(f"tagged record      {tagged:6.2f} µs   +{tagged - plain:.2f} (goal 2)")
    print(f"and tagged stream  {streamed:6.2f} µs   +{streamed - plain:.2f}")


if __name__ == "__main__":
    main()
