"""The report as Markdown; text from a log is kept from being read as markup."""

from __future__ import annotations

import re

from l4tui.engine.report import pages
from l4tui.engine.report.build import Table

_MARKUP = re.compile(r"([\\`*_{}\[\]()#!|<>~&$])")


def escape(text: str) -> str:
    """Escape what Markdown and HTML inside it give a meaning to."""
    return _MARKUP.sub(r"\\\1", text.replace("\n", " "))


def render_markdown(report: Table) -> str:
    """Render the page; ends with a newline."""
    out = ["# l4tui report", "", f"**{escape(str(pages.section(report, 'verdict')['summary']))}**", ""]
    out += ["| | |", "|---|---|", *(f"| {name} | {escape(value)} |" for name, value in pages.facts(report))]
    if todo := pages.actions(report):
        out += ["", "## Next", "", *(f"- {escape(a)}" for a in todo)]
    if reasons := pages.job_reasons(report):
        out += ["", "## The whole job", "", *(f"- {escape(r)}" for r in reasons)]
    if listed := pages.suspects(report):
        out += ["", "## Suspects", ""]
        for at, s in enumerate(listed, 1):
            out.append(
                f"{at}. **{escape(s.name)}** on {escape(s.node)}, score {s.score} = {escape(s.sum)}, L4 {escape(s.l4)}"
            )
            out += [f"   - {escape(kind)}: {escape(text)} ({escape(where)})" for kind, text, where in s.reasons]
    if seen := pages.events(report):
        out += ["", "## Events", "", "| role | count | ranks | template | lines |", "|---|---|---|---|---|"]
        out += [f"| {e.role} | {e.times} | {e.ranks} | {escape(e.template)} | {escape(e.places)} |" for e in seen]
    return "\n".join(out) + "\n"
