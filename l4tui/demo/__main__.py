"""`python -m l4tui.demo DIR`: the child process that writes the live demo."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

from l4tui.demo.pacing import live, watch_parent


def main() -> int:
    """Write a live job until it ends or nobody wants it any more."""
    parser = argparse.ArgumentParser(prog="python -m l4tui.demo", description=main.__doc__)
    parser.add_argument("directory", help="folder to write into; - writes one stream to standard output")
    parser.add_argument("--scenario", default="oom-gpu")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--style", default="python")
    parser.add_argument("--layout", default="torchrun")
    parser.add_argument("--iterations", type=int, default=160)
    parser.add_argument("--rate", type=float, default=1.0)
    args = vars(parser.parse_args())
    stop = threading.Event()
    watch_parent(stop)
    directory = args.pop("directory")
    try:
        live(sys.stdout.buffer if directory == "-" else Path(directory), stop=stop, **args)
    except ValueError as error:
        parser.error(str(error))
    except BrokenPipeError:  # the reader went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
