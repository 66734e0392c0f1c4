"""What is known of one line, and a record laid out to be read."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from rich.text import Text

from l4tui.engine.clock import iso
from l4tui.engine.model import NO_TIME, Flag, Level
from l4tui.engine.stages import NAMES
from l4tui.lenses import SORTS
from l4tui.widgets.cells import clean

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

LAID_OUT_MAX = 200_000  # characters of a structure that is parsed
RECORD_MAX = 2_000  # lines of a record that are shown
RAW_MAX = 2_000  # bytes of a raw line that are shown


def fields_text(snapshot: Snapshot, entry: int, ascii_only: bool) -> Text:
    """Lay out every field of a line, the raw bytes last."""
    rows = [(name, value) for name, value in field_values(snapshot, entry) if value]
    width = max(len(name) for name, _ in rows)
    text = Text(no_wrap=False, overflow="fold")
    for name, value in rows:
        text.append(f"{name:<{width}}  ", "dim")
        text.append(clean(value, ascii_only) + "\n")
    raw = snapshot.raw(entry)
    shown = raw[:RAW_MAX].decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    text.append(f"\n{clean(shown, ascii_only)}" + (" …" if len(raw) > RAW_MAX else ""))
    return text


def field_values(snapshot: Snapshot, entry: int) -> list[tuple[str, str]]:
    """List the fields of a line as (name, value); empty where unknown."""
    place = snapshot.place(entry)
    speaker, plan = int(snapshot.speaker[entry]), int(snapshot.plan[entry])
    who, plans = snapshot.ranks, snapshot.plans
    rank, local, node = int(who.rank[speaker]), int(who.local_rank[speaker]), int(who.node[speaker])
    stream, stage, site = int(who.stream[speaker]), int(snapshot.stage[entry]), int(plans.site[plan])
    level, event, iteration = int(plans.level[plan]), int(plans.event[plan]), snapshot.iteration_at(entry)
    clock, timed = int(snapshot.clock[entry]), bool(snapshot.flags[entry] & Flag.TIMED)
    moment = "" if clock == NO_TIME else (iso(clock, 6) or "") + ("" if timed else "  (of an earlier line)")
    head = int(snapshot.record[entry])
    segment = f", part {place.segment + 1}" if place.segment else ""
    return [
        ("source", snapshot.sources[place.source].path),
        ("line", f"{place.line:,}{segment}"),
        ("rank", str(rank) if rank >= 0 else SORTS[int(who.kind[speaker])]),  # type: ignore[index]
        ("local rank", str(local) if local >= 0 else ""),
        ("node", snapshot.nodes[node] if node >= 0 else ""),
        ("attempt", str(int(who.attempt[speaker]))),
        ("stream", snapshot.streams[stream] if stream >= 0 else ""),
        ("time", moment),
        ("level", Level(level).name if level else ""),
        ("call site", snapshot.sites[site] if site >= 0 else ""),
        ("iteration", f"{iteration:,}" if iteration >= 0 else ""),
        ("stage", NAMES[stage] if stage >= 0 else ""),
        ("record", "begins here" if head == entry else f"began {entry - head:,} lines above"),
        ("event", f"{event}: {snapshot.templates[event]}" if 0 <= event < len(snapshot.templates) else ""),
        ("formats", ", ".join(plans.formats[plan]) if plan < len(plans.formats) else ""),
        ("prefix", snapshot.prefix(entry).strip()),
    ]


def record_text(snapshot: Snapshot, entry: int, ascii_only: bool) -> Text:
    """Lay out the record that a line belongs to: JSON and dicts indented, else its lines."""
    entries = snapshot.entries_of([int(snapshot.record[entry])])[:RECORD_MAX]
    lines = snapshot.texts(entries.tolist(), LAID_OUT_MAX)
    whole = "\n".join(lines)[:LAID_OUT_MAX]
    structure = laid_out(whole) or laid_out(snapshot.raws([entry], LAID_OUT_MAX)[0].decode("utf-8", "replace"))
    shown = structure or whole
    return Text("\n".join(clean(line, ascii_only) for line in shown.split("\n")), overflow="fold")


def laid_out(text: str) -> str:
    """Indent the JSON or Python structure in a text, keeping what stands before it; empty if there is none."""
    match = re.search(r"[{\[]", text[:LAID_OUT_MAX])
    if match is None:
        return ""
    before, body = text[: match.start()], text[match.start() : LAID_OUT_MAX].strip()
    value: object
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return ""
    if not isinstance(value, dict | list) or not value:
        return ""
    try:
        written = json.dumps(value, indent=2, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return ""
    return f"{before.rstrip()}\n{written}" if before.strip() else written
