"""The report as one HTML file: no script, nothing loaded, everything from the log escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from l4tui.engine.report import pages
from l4tui.engine.report.build import Table

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}"
    "td,th{vertical-align:top}"
    "code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}.initiating{color:#a00;font-weight:bold}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}.initiating{color:#f77}}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_html(report: Table) -> str:
    """Render the page as a complete document."""
    summary = escape(str(pages.section(report, "verdict")["summary"]))
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>l4tui report</title><style>{_STYLE}</style></head><body>"
    )
    parts = [head, f"<h1>{summary}</h1>", _table(pages.facts(report))]
    if reasons := pages.job_reasons(report):
        parts += ["<h2>The whole job</h2>", _list(reasons)]
    if listed := pages.suspects(report):
        parts.append("<h2>Suspects</h2><ol>")
        for s in listed:
            title = f"<b>{escape(s.name)}</b> on {escape(s.node)}: score {escape(s.score)} = {escape(s.sum)}"
            title += f", L4 {escape(s.l4)}"
            reasons_ = "".join(
                f"<li>{escape(kind)}: {escape(text)} <code>{escape(where)}</code></li>"
                for kind, text, where in s.reasons
            )
            parts.append(f"<li>{title}<ul>{reasons_}</ul></li>")
        parts.append("</ol>")
    if seen := pages.events(report):
        parts.append("<h2>Events</h2><table><tr><th>role<th>count<th>ranks<th>template<th>lines</tr>")
        parts += [
            f'<tr><td class="{escape(e.role)}">{escape(e.role)}<td>{e.times}<td>{escape(e.ranks)}'
            f"<td><code>{escape(e.template)}</code><td><code>{escape(e.places)}</code></tr>"
            for e in seen
        ]
        parts.append("</table>")
    if todo := pages.actions(report):
        parts += ["<h2>Next</h2>", _list(todo)]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _table(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}<td>{escape(value)}</tr>" for name, value in facts)
    return f"<table>{rows}</table>"


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>"
