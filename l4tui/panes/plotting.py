"""From what a person wants to see of some series to a drawn chart; done in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.charts import Curve, Picture, View, draw
from l4tui.engine.model import UNKNOWN
from l4tui.engine.telemetry.bands import Band, Line, band_of
from l4tui.gauges import Axis, Floats, Gauge, Gauges, Ints, Samples

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

FEW = 3  # ranks that are drawn each for itself
MOST_LINES = 12  # ranks, where each is wanted
SPARK = 10
MOST_POINTS = 60  # marks at the top edge
APART = 20.0  # times by which two ranges differ until they get an axis each
DOTS = 2  # columns of braille in a cell


class Request(NamedTuple):
    """What is to be drawn."""

    gauges: tuple[Gauge, ...]
    ranks: tuple[int, ...] | None
    each: bool
    window: int
    zoom: tuple[float, float] | None
    width: int
    height: int
    is_log: bool
    is_plain: bool
    is_ascii: bool
    sparks: tuple[Gauge, ...]


class Told(NamedTuple):
    """What is told of a series at the cursor."""

    name: str
    band: Band
    names: tuple[str, ...]  # of what is no rank
    odd_x: np.ndarray  # where samples are not finite
    odd_many: np.ndarray  # ranks of which


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, and what it knows of every x."""

    picture: Picture | None
    view: View
    span: tuple[float, float]  # of x, unzoomed
    xs: Floats | None = None  # of the last series' samples, ascending
    entries: Ints | None = None
    told: tuple[Told, ...] = ()
    points: tuple[tuple[float, str, str], ...] = ()  # x, glyph, style: what is not finite, machines' events
    remarks: tuple[tuple[str, str], ...] = ()  # words and style for the legend
    sparks: dict[str, list[float]] = field(default_factory=dict)
    marks: tuple[tuple[float, str], ...] = ()  # x and words of machines' events
    words: str = ""

    def entry_at(self, x: float) -> int:
        """Return the line of the sample nearest to an x; −1 where there is none."""
        if self.xs is None or self.entries is None or not len(self.xs) or x != x:
            return UNKNOWN
        at = int(np.searchsorted(self.xs, x))
        near = [i for i in (at - 1, at) if 0 <= i < len(self.xs)]
        return int(self.entries[min(near, key=lambda i: abs(float(self.xs[i]) - x))])  # type: ignore[index]

    def at(self, x: float) -> list[tuple[str, str]]:
        """Say what the series are at an x, the machines' events near it first."""
        out = []
        reach = (self.view.high - self.view.low) / max(self.view.width, 1)
        out += [(words, "warning") for where, words in self.marks if abs(where - x) <= reach][:2]
        for name, band, names, odd_x, odd_many in self.told:
            near, far = max(reach, 0.5), float("inf")
            i, away = _nearest(band.x, x)
            j, odd_away = _nearest(odd_x, x)
            odd_away = odd_away if odd_away <= min(near, away) else far  # a value that is nearer is the one meant
            if odd_away < far:
                many = f" on {odd_many[j]:,} ranks" if odd_many[j] > 1 else ""
                out.append((f"{name}: not finite{many}", "error"))
            if away > near or odd_away < away:
                out += [(f"{name}: no value", "quiet")] if odd_away == far and len(band.x) else []
                continue
            words = f"{name} {band.middle[i]:.5g}"
            if band.ranks > 1 and band.low[i] < band.high[i]:
                words += f" [{band.low[i]:.4g}..{band.high[i]:.4g}]"
            out.append((words, "plain"))
            odd = [(who, line.y[i]) for who, line in band.outside if np.isfinite(line.y[i])]
            out += [(f"{_called(who, names)} {value:.5g}", "odd") for who, value in odd]
        return out


def _nearest(places: np.ndarray, x: float) -> tuple[int, float]:
    """Return which of the places is nearest, and how far away it is."""
    if not len(places):
        return UNKNOWN, float("inf")
    i = int(np.argmin(np.abs(places - x)))
    return i, abs(float(places[i]) - x)


def make(request: Request, gauges: Gauges, snapshot: Snapshot, axis: Axis) -> Drawing:
    """Gather the samples and draw them."""
    sparks = {g.name: _spark(gauges, g, snapshot, axis) for g in request.sparks}
    found = [(g, gauges.samples(g, snapshot, axis, request.ranks)) for g in request.gauges]
    found = [(g, s) for g, s in found if len(s.x)]
    nothing = View(request.width, request.height, 0.0, 1.0)
    if not found:
        words = "nothing of this rank" if request.ranks else "no value has a place on this axis"
        words = words if request.gauges else "no series has such a name"
        return Drawing(None, nothing, (0.0, 1.0), sparks=sparks, words=words)
    if request.width < 20 or request.height < 4:
        return Drawing(None, nothing, (0.0, 1.0), sparks=sparks, words="too small for a chart")
    span = min(float(np.nanmin(s.x)) for _, s in found), max(float(np.nanmax(s.x)) for _, s in found)
    low, high = request.zoom or span
    view = View(
        request.width, request.height, low, high, request.is_log, request.is_plain, request.is_ascii, axis.label
    )
    curves, told, remarks = _curves(request, found, view)
    _, last = found[-1]
    order = np.argsort(last.x, kind="stable")
    points, odd = _points(found, gauges, axis, view)
    marks = tuple(_marks(gauges, axis))
    return Drawing(
        picture=draw(curves, view),
        view=view,
        span=span,
        xs=last.x[order],
        entries=last.entry[order],
        told=tuple(told),
        points=points,
        remarks=(*remarks, *odd),
        sparks=sparks,
        marks=marks,
    )


def _spark(gauges: Gauges, gauge: Gauge, snapshot: Snapshot, axis: Axis) -> list[float]:
    if gauge.is_outside:
        s = gauges.samples(gauge, snapshot, axis)
        if not len(s.x):
            return []
        band = band_of(np.zeros(len(s.x), np.int64), s.x, s.y, float(s.x.min()), float(s.x.max()), SPARK, 1)
        return [float(v) for v in band.middle[np.isfinite(band.middle)]]
    values = gauges.index.spark(gauge.name, snapshot, SPARK)
    return [float(v) for v in values[np.isfinite(values)]]


def _curves(
    request: Request, found: Sequence[tuple[Gauge, Samples]], view: View
) -> tuple[list[Curve], list[Told], list[tuple[str, str]]]:
    curves: list[Curve] = []
    told: list[Told] = []
    remarks: list[tuple[str, str]] = []
    columns = max(view.width - 10, 10) * (1 if view.is_plain or view.is_ascii else DOTS)
    heights = [_height(s) for _, s in found]
    apart = len(found) == 2 and max(heights) > APART * max(min(heights), 1e-300)
    scaled = len(found) > 2
    for n, (gauge, s) in enumerate(found):
        inside = (s.x >= view.low) & (s.x <= view.high)
        band = band_of(s.who[inside], s.x[inside], s.y[inside], view.low, view.high, columns, request.window)
        told.append(Told(gauge.name, band, s.names, *_odd_places(s)))
        on_right = apart and n == 1
        if request.each or band.ranks <= FEW:
            drawn, more = _each(gauge, s, inside, columns, request, view, len(found) > 1)
            remarks += [(f"and {more} more ranks", "quiet")] if more else []
        else:
            drawn = _banded(gauge, band, len(found) > 1, s.names)
            if band.outside:
                whos = ", ".join(s.names[who] if s.names else str(who) for who, _ in band.outside)
                ranks = "" if s.names else "ranks " if len(band.outside) > 1 else "rank "
                remarks.append((f"outside: {ranks}{whos}", "odd"))
        curves += [c._replace(line=_scaled(c.line, s) if scaled else c.line, on_right=on_right) for c in drawn]
    if scaled:
        remarks.append(("each scaled to its own range", "quiet"))
    return curves, told, remarks


def _odd_places(s: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return where samples are not finite, and on how many ranks there."""
    odd = ~np.isfinite(s.y) & ~np.isnan(s.x)
    pairs = np.unique(np.stack((s.x[odd], s.who[odd])), axis=1)
    places, many = np.unique(pairs[0], return_counts=True)
    return places, many


def _called(who: int, names: Sequence[str]) -> str:
    return names[who] if names else f"rank {who}" if who >= 0 else "no rank"


def _banded(gauge: Gauge, band: Band, several: bool, names: Sequence[str]) -> list[Curve]:
    label = f"{gauge.name}" if several else f"{gauge.name}, middle of {band.ranks:,}"
    curves = [Curve(line._replace(label=_called(who, names)), "odd") for who, line in band.outside]
    curves.append(Curve(Line(label, band.x, band.middle)))
    if not several:
        curves = [Curve(Line("", band.x, band.low), "edge"), Curve(Line("", band.x, band.high), "edge"), *curves[::-1]]
    return curves


def _each(
    gauge: Gauge, s: Samples, inside: np.ndarray, columns: int, request: Request, view: View, several: bool
) -> tuple[list[Curve], int]:
    whos = np.unique(s.who[inside])
    curves = []
    for who in whos[:MOST_LINES].tolist():
        mine = inside & (s.who == who)
        one = band_of(s.who[mine], s.x[mine], s.y[mine], view.low, view.high, columns, request.window)
        name = _called(who, s.names)
        label = f"{gauge.name} {name}" if several or len(whos) == 1 else name
        curves.append(Curve(Line(label, one.x, one.middle)))
    return curves, max(len(whos) - MOST_LINES, 0)


def _height(s: Samples) -> float:
    finite = np.abs(s.y[np.isfinite(s.y)])
    return float(finite.max()) if len(finite) else 0.0


def _scaled(line: Line, s: Samples) -> Line:
    finite = s.y[np.isfinite(s.y)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return line._replace(y=(line.y - low) / ((high - low) or 1.0) * 100)


def _points(
    found: Sequence[tuple[Gauge, Samples]], gauges: Gauges, axis: Axis, view: View
) -> tuple[tuple[tuple[float, str, str], ...], list[tuple[str, str]]]:
    out: list[tuple[float, str, str]] = []
    remarks: list[tuple[str, str]] = []
    for _, s in found:
        odd = ~np.isfinite(s.y)
        if odd.any():
            ranks = np.unique(s.who[odd & (s.who >= 0)]).tolist() if not s.names else []
            who = f" on {len(ranks):,} ranks" if len(ranks) > 1 else ""
            earliest = int(np.argmin(np.where(odd, s.x, np.inf)))
            rank = int(s.who[earliest])
            begun = f"first at {s.x[earliest]:,.0f}" + (f", rank {rank}" if rank >= 0 and not s.names else "")
            remarks.append((f"{int(odd.sum()):,} not finite{who}, {begun}", "error"))
            out += [(float(x), "failed", "error") for x in np.unique(s.x[odd])[:MOST_POINTS]]
    marks = [(x, "rank_suspect", "warning") for x, _ in _marks(gauges, axis) if view.low <= x <= view.high]
    if marks:
        remarks.append((f"{len(marks):,} machine events", "warning"))
    return (*out, *marks[:MOST_POINTS]), remarks


def _marks(gauges: Gauges, axis: Axis) -> list[tuple[float, str]]:
    marks = gauges.marks
    if not marks:
        return []
    at = axis.of_times(np.array([m.time for m in marks], np.int64))
    return [(float(x), f"{m.kind} {m.node or ''} {m.text[:60]}") for x, m in zip(at, marks, strict=True) if x == x]

def number(value: float) -> str:
    """Write a value shortly."""
    if not np.isfinite(value):
        return str(value)
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"
