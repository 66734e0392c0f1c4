"""What a finished reading leaves behind, as a JSON table and arrays; and a reading taken up again from them.

Drain and the identity are not stored: shapes and telling lines are, and both learn from them anew once more is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from l4tui.engine.adoption import Adoption
from l4tui.engine.carrying import SourceCarry
from l4tui.engine.formats import Dialect
from l4tui.engine.merger import Merger
from l4tui.engine.model import Speaker
from l4tui.engine.planbook import PlanBook, PlanKey
from l4tui.engine.restarts import Restarts
from l4tui.engine.store import Store

Row = list[Any]  # JSON
_PLAN_ARRAYS = (
    "event", "shape", "level", "site", "text_at", "lane_end", "line_class", "marker", "stage_action", "trail",
)  # fmt: skip


class Unusable(Exception):
    """A stored state that cannot be of these sources."""


def state_of(store: Store, merger: Merger) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the state of a reading."""
    arrays = {f"column.{name}": column.view() for name, column in store.columns.items()}
    arrays |= {f"block.{name}": values for name, values in store.blocks()._asdict().items()}
    book = merger.book
    arrays |= {f"plan.{name}": getattr(book, name).view() for name in _PLAN_ARRAYS}
    arrays |= {f"carry.{name}": values for name, values in merger.carried().items()}
    names = list(dict.fromkeys(book.formats))
    at = {name: i for i, name in enumerate(names)}
    table = {
        "formats": names,
        "plan_formats": [at[name] for name in book.formats],
        "plan_keys": [[_text(key.key), _text(key.site), key.loose] for key in book.keys()],  # noqa: SIM118  (no dict)
        "sites": book.sites,
        "shapes": [_text(shape) for shape in book.shapes],
        "templates": list(book.events.templates()),
        "speakers": [list(speaker) for speaker in merger.speakers],
        "shared": [[list(who), n] for who, n in merger.shared.items()],
        "told": [[who, _text(text)] for who, text in merger.told],
        "owners": [[thread, list(who)] for thread, who in merger.owners.items()],
        "sources": [[index, *_carried(carry)] for index, carry in merger.sources.items()],
        "stages": [merger.stages.rows, [[s, list(kept), at] for s, (kept, at) in merger.stages.sources.items()]],
    }
    return table, arrays


def restore(store: Store, merger: Merger, table: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Take up a stored state into an empty store and merger; raises Unusable."""
    _check(table, arrays)
    store.restore(
        {name: arrays[f"column.{name}"] for name in store.columns},
        {name: arrays[f"block.{name}"] for name in store.blocks()._fields},
    )
    _restore_plans(merger.book, table, arrays)
    merger.book.count(arrays["column.plan"])
    for row in table["speakers"]:
        merger.add_speaker(Speaker(*row))
    for thread, owner in table["owners"]:
        merger.own(thread, Speaker(*owner))
    merger.shared = {tuple(who): n for who, n in table["shared"]}
    merger.told = {(who, _bytes(text)): None for who, text in table["told"]}
    merger.sources.update({row[0]: _carry(row[1:]) for row in table["sources"]})
    merger.restore_carried({name[6:]: values for name, values in arrays.items() if name.startswith("carry.")})
    merger.stages.rows = table["stages"][0]
    merger.stages.sources = {s: (tuple(kept), at) for s, kept, at in table["stages"][1]}


def _check(table: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse numbers that lead nowhere."""
    length = len(arrays["column.plan"])
    limits = {
        "column.plan": len(table["plan_formats"]), "column.speaker": len(table["speakers"]), "column.record": length,
        "plan.event": len(table["templates"]), "plan.shape": len(table["shapes"]), "plan.site": len(table["sites"]),
    }  # fmt: skip
    for name, limit in limits.items():
        values = arrays[name]
        if len(values) and (int(values.max()) >= limit or int(values.min()) < -1):
            raise Unusable(name)
    if any(len(arrays[name]) != length for name in arrays if name.startswith("column.")):
        raise Unusable("columns")


def _restore_plans(book: PlanBook, table: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    formats = [tuple(names) for names in table["formats"]]
    shapes = [_bytes(shape) for shape in table["shapes"]]
    keys = []
    text_at = arrays["plan.text_at"].tolist()
    for (key, site, loose), form, at in zip(table["plan_keys"], table["plan_formats"], text_at, strict=True):
        keys.append(PlanKey(_bytes(key), formats[form], at, _bytes(site), loose))
    of_shape: dict[bytes, int] = {}
    for shape, event in zip(arrays["plan.shape"].tolist(), arrays["plan.event"].tolist(), strict=True):
        of_shape.setdefault(shapes[shape], event)
    book.restore(keys, shapes, table["sites"], {name: arrays[f"plan.{name}"] for name in _PLAN_ARRAYS})
    book.events.restore(of_shape, table["templates"])


def restarts_row(known: Restarts) -> Row:
    """Return a source's attempts as JSON."""
    known.settle()
    marks = [[list(who), number] for who, number in known.marks.items()]
    return [known.epoch, list(known.pids.items()), sorted(known.ended), known.has_run, known.is_over, marks]


def restarts_of(row: Row) -> Restarts:
    """Return what `restarts_row` gave."""
    epoch, pids, ended, has_run, is_over, marks = row
    return Restarts(epoch, dict(pids), set(ended), has_run, is_over, {Speaker(*who): number for who, number in marks})


def _carried(carry: SourceCarry) -> Row:
    pieces = [list(piece) for piece in carry.pieces.items()]
    return [
        carry.lines, restarts_row(carry.restarts),
        carry.clock, carry.after, pieces, carry.last,
        carry.adoption.lane, carry.adoption.open, carry.heading,
    ]  # fmt: skip


def _carry(row: Row) -> SourceCarry:
    lines, restarts, clock, after, pieces, last, lane, opened, heading = row
    adoption = Adoption()
    adoption.lane, adoption.open = lane, opened
    return SourceCarry(lines, restarts_of(restarts), clock, after, dict(pieces), last, adoption, heading)


def dialect_row(dialect: Dialect) -> Row:
    """Return a dialect as JSON."""
    midline = None if dialect.midline is None else _text(dialect.midline)
    seen = sorted(_text(one) for one in dialect.seen_ids)
    return [list(dialect.prefixes), midline, seen, dialect.piece, [list(pair) for pair in dialect.rest]]


def dialect_of(row: Row) -> Dialect:
    """Return what `dialect_row` wrote."""
    prefixes, midline, seen, piece, rest = row
    return Dialect(
        tuple(prefixes), None if midline is None else _bytes(midline), frozenset(_bytes(one) for one in seen), piece,
        tuple((a, b) for a, b in rest),
    )  # fmt: skip


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
