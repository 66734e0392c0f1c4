"""The report as a page of plain text that a person can paste into a ticket."""

from __future__ import annotations

import textwrap

from l4tui.engine.report import pages
from l4tui.engine.report.build import Table

WIDTH = 100


def render_text(report: Table) -> str:
    """Render the page; ends with a newline, no line is wider than `WIDTH`."""
    out = [*_wrapped(str(pages.section(report, "verdict")["summary"])), ""]
    for name, value in pages.facts(report):
        out += _wrapped(f"{name:<10} {value}", then=11)
    if todo := pages.actions(report):
        out += ["", "Next"]
        for action in todo:
            out += _wrapped(f"- {action}", 2, 4)
    if reasons := pages.job_reasons(report):
        out += ["", "What befell the whole job"]
        for reason in reasons:
            out += _wrapped(reason, 2, 4)
    if listed := pages.suspects(report):
        out += ["", "Suspects"]
        for at, s in enumerate(listed, 1):
            out += _wrapped(f"{at}. {s.name}{_place(s.name, s.node)}: score {s.score} = {s.sum}; L4 {s.l4}", 2, 5)
            for kind, text, where in s.reasons:
                out += _wrapped(f"{kind}: {text}", 5, 7)
                out += _wrapped(where, 7, 9)
    if seen := pages.events(report):
        out += ["", "Events"]
        for e in seen:
            out += textwrap.wrap(f"{e.times} × {e.template}", WIDTH, max_lines=2, placeholder=" …",
                                 initial_indent=f"  {e.role:<10} ", subsequent_indent=" " * 13)  # fmt: skip
            out += _wrapped(f"rank {e.ranks}  {e.places}" if e.ranks else e.places, 13, 15)
    return "\n".join(out) + "\n"


def _wrapped(text: str, indent: int = 0, then: int = 0) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * then, break_on_hyphens=False
    )


def _place(name: str, node: str) -> str:
    """Write where a suspect is, unless it is that place, or the place is not known."""
    return "" if node in ("–", "") or name.endswith(node) else f" on {node}"
