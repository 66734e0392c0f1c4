"""What searching a whole job costs: patterns of each kind over logs that are there.

    python -m tests.bench.search FOLDER

Prints per pattern: matches, CPU seconds, megabytes of log per CPU second. The log is read first; its pages are then in
the file cache, as they are when a person types a pattern.
"""

from __future__ import annotations

import argparse
import threading
import time

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options
from l4tui.engine.search import search

PATTERNS = (
    ("decided by kinds of line", r"local loss"),
    ("the same as a regex", r"NCCL (INFO|WARN) \w+"),
    ("a literal with digits", r"step 4711 local"),
    ("a literal that no line has", r"loss 99.87654"),
    ("a regex with a literal prefix", r"batch 12[0-4]\d7 ready"),
    ("a regex with a literal inside", r"\d+ forward 17[0-2]\.\d"),
    ("any other regex", r"[13]\.[79]{2}\d+ |(?:7|8){4} r"),
    ("any other, case folded", r"(?i)STEP 12\d{2}7 LO"),
)


def search_table(folder: str) -> str:
    """Search for each pattern and lay out what it costs."""
    job = Job(discover([folder]).whole().sources, Options(jobs=1))
    job.read_all()
    snap = job.snapshot()
    size = sum(source.size() for source in job.sources)
    rows = ["| pattern | | matches | CPU s | MB per CPU s |", "|---|---|---:|---:|---:|"]
    for name, pattern in PATTERNS:
        spent = time.process_time()
        found = sum(len(batch) for batch in search(snap, pattern, 0, threading.Event()))
        spent = time.process_time() - spent
        escaped = pattern.replace("|", "\\|")
        rows.append(f"| {name} | `{escaped}` | {found:,} | {spent:.2f} | {size / 1e6 / spent:,.0f} |")
    job.close()
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="search logs that are there")
    parser.add_argument("folder")
    print(search_table(parser.parse_args().folder))
