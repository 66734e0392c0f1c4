"""Reports as one HTML file: no script, nothing loaded, everything from the log escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from l4tui.engine.report import pages
from l4tui.engine.report.build import Table

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1.2em;color:#222;background:#fff}"
    "h1{font-size:1.35em;line-height:1.35;overflow-wrap:anywhere}h2{font-size:1.05em;margin:1.8em 0 .5em}"
    "table{border-collapse:collapse}td,th{padding:.25em .9em .25em 0;text-align:left;vertical-align:top}"
    ".events td,.events th{border-bottom:1px solid #ddd}.facts th,.quiet{color:#666;font-weight:normal}"
    "ol,ul{padding-left:1.3em}li{margin:.3em 0}li li{margin:.1em 0}.events{width:100%}"
    "code{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}.places{color:#05659c}"
    "article+article{border-top:2px solid #ccc;margin-top:3em}"
    ".initiating{color:#b44f00;font-weight:bold}.cascade{color:#8f6300}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.events td,.events th{border-color:#444}"
    ".facts th,.quiet{color:#999}.places{color:#56b4e9}.initiating{color:#f0752a}.cascade{color:#e69f00}}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_html(reports: Sequence[Table]) -> str:
    """Render a complete document: an article for each job, before them what each came to when there are several."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>l4tui report</title><style>{_STYLE}</style></head><body>"
    )
    parts = [head]
    if len(reports) > 1:
        parts += [f"<h1>{len(reports)} jobs</h1><ol>", *map(_entry, range(len(reports)), reports), "</ol>"]
    for number, report in enumerate(reports):
        parts += [f'<article id="job-{number}">', *_article(report), "</article>"]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _summary(report: Table) -> str:
    return escape(str(pages.section(report, "verdict")["summary"]))


def _entry(number: int, report: Table) -> str:
    logs = dict(pages.facts(report))["logs"]
    return f'<li><a href="#job-{number}">{escape(logs)}</a> {_summary(report)}'


def _article(report: Table) -> Iterator[str]:
    yield f"<h1>{_summary(report)}</h1>"
    yield _table(pages.facts(report))
    if todo := pages.actions(report):
        yield "<h2>Next</h2>" + _list(todo)
    if reasons := pages.job_reasons(report):
        yield "<h2>The whole job</h2>" + _list(reasons)
    if listed := pages.suspects(report):
        yield from ("<h2>Suspects</h2><ol>", *map(_suspect, listed), "</ol>")
    if seen := pages.events(report):
        yield '<h2>Events</h2><table class="events"><tr><th>role<th>lines<th>ranks<th>event<th>where</tr>'
        yield from (*map(_event, seen), "</table>")


def _suspect(s: pages.SuspectRow) -> str:
    title = f"<b>{escape(s.name)}</b> on {escape(s.node)} "
    title += f'<span class="quiet">score {escape(s.score)} = {escape(s.sum)}, L4 {escape(s.l4)}</span>'
    reasons = "".join(
        f'<li><span class="quiet">{escape(kind)}</span> {escape(text)} <code class="places">{escape(where)}</code></li>'
        for kind, text, where in s.reasons
    )
    return f"<li>{title}<ul>{reasons}</ul></li>"


def _event(e: pages.EventRow) -> str:
    return (
        f'<tr><td class="{escape(e.role)}">{escape(e.role)}<td>{e.times}<td>{escape(e.ranks)}'
        f'<td><code>{escape(e.template)}</code><td><code class="places">{escape(e.places)}</code></tr>'
    )


def _table(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}<td>{escape(value)}</tr>" for name, value in facts)
    return f'<table class="facts">{rows}</table>'


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>"
