"""The report as a page of plain text that a person can paste into a ticket."""

from __future__ import annotations

import textwrap

from l4tui.engine.report import pages
from l4tui.engine.report.build import Table

WIDTH = 100


def render_text(report: Table) -> str:
    """Render the page; ends with a newline."""
    out = [*textwrap.wrap(str(pages.section(report, "verdict")["summary"]), WIDTH), ""]
    out += [f"{name:<10} {value}" for name, value in pages.facts(report)]
    if reasons := pages.job_reasons(report):
        out += ["", "What befell the whole job", *(f"  {r}" for r in reasons)]
    if listed := pages.suspects(report):
        out += ["", "Suspects"]
        for at, s in enumerate(listed, 1):
            out.append(f"  {at}. {s.name} on {s.node}  score {s.score} = {s.sum}  L4 {s.l4}")
            for kind, text, where in s.reasons:
                out += textwrap.wrap(f"{kind}: {text}", WIDTH, initial_indent="     ", subsequent_indent="       ")
                out += [f"       {where}"] if where else []
    if seen := pages.events(report):
        out += ["", "Events"]
        for e in seen:
            out.append(f"  {e.role:<10} {e.times:>5} × {e.template[:WIDTH]}")
            out.append(f"             ranks {e.ranks or '–'}  {e.places}")
    if todo := pages.actions(report):
        out += ["", "Next", *(f"  - {a}" for a in todo)]
    return "\n".join(out) + "\n"
