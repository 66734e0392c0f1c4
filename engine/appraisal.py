"""From a snapshot to an opinion: diagnose, rank by both methods, number everything by the snapshot's own entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from l4tui.engine.blame import Candidate
from l4tui.engine.condensed import entries_that_matter, select
from l4tui.engine.diagnosis import Diagnosis, diagnose
from l4tui.engine.evidence.case import Baseline, Case
from l4tui.engine.evidence.finding import Finding
from l4tui.engine.evidence.from_snapshot import journal_from
from l4tui.engine.evidence.roots import EventSeen
from l4tui.engine.filenames import short_names
from l4tui.engine.l4 import temporal
from l4tui.engine.l4.counts import Unit, counted_rows
from l4tui.engine.l4.spatial import Anomaly
from l4tui.engine.l4.words import iteration_sentence, sentence
from l4tui.engine.library.loading import Library
from l4tui.engine.model import UNKNOWN
from l4tui.engine.opinion import Ints, Iterations, Oddity, Opinion, Reason, Seen, Suspect, no_iterations
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.curves import Outside

MOST_UNITS = 8  # ranks, and nodes, that are listed by the statistical ranking alone
MOST_ENTRIES = 1000  # lines of one event
MOST_PEERS = 16  # a rank that more name is named by everybody
QUOTED = 5  # lines of a reason or event whose text is shown
QUOTE_MAX = 300  # characters


def appraise(
    snap: Snapshot, library: Library, baseline: Baseline | None = None, outside: Sequence[Outside] = ()
) -> Opinion:
    """Judge a job; reads the files and takes seconds of CPU, so never in the process that draws."""
    chosen = entries_that_matter(snap)
    part = snap if chosen is None else select(snap, chosen)
    entries = np.arange(snap.length) if chosen is None else np.flatnonzero(chosen)
    found = diagnose(journal_from(part), library, baseline=baseline, outside=outside)
    scribe = _Scribe(found, library, entries.astype(np.int64))
    lead = found.blame.lead
    ranks, nodes, events = scribe.ranks(), scribe.nodes(), scribe.events()
    job = tuple(scribe.reason(0.0, f) for f in found.blame.job) if found.blame.scope == "job" else ()
    reasons = (*job, *(reason for s in (*ranks, *nodes) for reason in s.reasons))
    shown = [*(r.entries for r in reasons), *(e.entries for e in events)]
    quoted = [entry for group in shown for entry in group[:QUOTED]]
    iterations = scribe.iterations()
    quoted += [e for odd in iterations.odd.values() for e in odd.entries[:1]]
    return Opinion(
        version=snap.version,
        outcome=str(found.outcome),
        verdict=found.verdict,
        attempt=found.case.attempt,
        attempts=found.attempts,
        accused=found.blame.accused,
        ranks=ranks,
        nodes=nodes,
        job=job,
        events=events,
        iterations=iterations,
        entry=int(entries[lead.rows[0]]) if lead is not None and lead.rows else UNKNOWN,
        quotes=quotes(snap, quoted),
        judged=part.length,
        whole=snap.length,
    )


def quotes(snap: Snapshot, entries: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return place and text of entries."""
    wanted = sorted(set(entries))
    names = short_names(tuple(source.path for source in snap.sources))
    places = [(names[p.source], p.line) for p in snap.places(wanted)]
    texts = snap.texts(wanted)
    shown = zip(wanted, places, texts, strict=True)
    return {entry: (f"{name}:{line}", text[:QUOTE_MAX]) for entry, (name, line), text in shown}


class _Scribe:
    """Writes down one diagnosis."""

    def __init__(self, found: Diagnosis, library: Library, entries: Ints) -> None:
        self.found, self.case, self.library, self.entry_of = found, found.case, library, entries
        self.places: dict[Unit, tuple[int, float]] = found.case.l4.degrees()
        l4 = found.case.l4
        self.odd: dict[Unit, Anomaly] = {a.unit: a for a in (*l4.ranks.flagged, *l4.nodes.flagged)}
        self.named = _named(found.case)

    def _entries(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.entry_of[np.asarray(rows[:MOST_ENTRIES], np.int64)].tolist())

    def reason(self, decibans: float, f: Finding) -> Reason:
        """Write down a finding."""
        return Reason(decibans, f.kind, f.sentence, self._entries(f.rows), f.places)

    def ranks(self) -> tuple[Suspect, ...]:
        """Rank the ranks: those that evidence accuses, then those that only the statistics set apart."""
        listed = [self._suspect(c, c.rank, c.node or "") for c in self.found.blame.ranks]
        return (*listed, *self._others({c.rank for c in self.found.blame.ranks}, int))

    def nodes(self) -> tuple[Suspect, ...]:
        """Rank the nodes likewise."""
        listed = [self._suspect(c, UNKNOWN, c.node or "") for c in self.found.blame.nodes]
        return (*listed, *self._others({c.node for c in self.found.blame.nodes}, str))

    def _suspect(self, c: Candidate, rank: int, node: str) -> Suspect:
        unit: Unit = rank if rank >= 0 else node
        reasons = [self.reason(value, f) for value, f in c.parts]
        if unit in self.odd and not any(r.kind == "spatial" for r in reasons):
            reasons.append(self._statistics(unit))
        return Suspect(rank, node, c.decibans, c.score, *self._place(unit), tuple(reasons), *self._ties(rank))

    def _others(self, listed: set[int] | set[str | None], sort: type) -> list[Suspect]:
        units = [u for u in self.places if isinstance(u, sort) and u not in listed and self.places[u][1] > 0]
        units.sort(key=lambda unit: self.places[unit][0])
        return [self._by_statistics(unit) for unit in units[:MOST_UNITS]]

    def _by_statistics(self, unit: Unit) -> Suspect:
        rank = unit if isinstance(unit, int) else UNKNOWN
        node = unit if isinstance(unit, str) else self.case.node_of(rank) or ""
        reasons = (self._statistics(unit),) if unit in self.odd else ()
        return Suspect(rank, node, 0.0, 0.0, *self._place(unit), reasons, *self._ties(rank))

    def _place(self, unit: Unit) -> tuple[int, float]:
        return self.places.get(unit, (0, 0.0))

    def _ties(self, rank: int) -> tuple[tuple[int, ...], int]:
        """Return the ranks it has to do with and its last iteration."""
        if rank < 0:
            return (), UNKNOWN
        named = sorted(self.named.get(rank, set()))
        return tuple(named) if len(named) <= MOST_PEERS else (), self.case.iteration_of(rank)

    def _statistics(self, unit: Unit) -> Reason:
        anomaly = self.odd[unit]
        j = self.case.journal
        events = [cause.event for cause in anomaly.causes[:QUOTED]]
        mine = j.rank == unit if isinstance(unit, int) else np.isin(j.rank, self.case.on_node(str(unit)))
        rows = np.flatnonzero(self.case.mask & mine & np.isin(j.event, events))
        _, first = np.unique(j.event[rows], return_index=True)
        return Reason(0.0, "spatial", sentence(self.case, anomaly), self._entries(np.sort(rows[first]).tolist()))

    def events(self) -> tuple[Seen, ...]:
        """Write down the events to read."""
        return tuple(self._seen(e) for e in self.found.events)

    def _seen(self, e: EventSeen) -> Seen:
        known = self.library.get(e.pattern) if e.pattern else None
        facts = Seen(
            e.event, str(e.role), self.case.journal.templates[e.event], e.count, e.ranks, e.stage, e.iteration,
            self._entries(e.rows),
        )  # fmt: skip
        if known is None:
            return facts
        return facts._replace(
            pattern=known.id, meaning=known.meaning, cause=known.cause, remedies=known.actions,
            reference=known.reference, is_own=known.user,
        )  # fmt: skip

    def iterations(self) -> Iterations:
        """Write down the iterations of all attempts."""
        parts = [self._iterations_of(attempt) for attempt in self.found.attempts]
        parts = [part for part in parts if len(part)]
        if not parts:
            return no_iterations()
        starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        odd = {start + at: o for start, part in zip(starts, parts, strict=False) for at, o in part.odd.items()}
        return Iterations(
            np.concatenate([part.attempt for part in parts]),
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.seconds for part in parts]),
            np.concatenate([part.deviations for part in parts]),
            np.concatenate([part.entry for part in parts]),
            odd,
        )

    def _iterations_of(self, attempt: int) -> Iterations:
        case, told = self.case, self.case.l4.temporal
        if attempt != case.attempt:
            case = Case(journal=case.journal, sightings=(), attempt=attempt, baseline=case.baseline)
            nothing = np.zeros(len(case.journal.templates), np.bool_)
            told = temporal.compare(case, counted_rows(case, nothing), self.case.l4.usual)
        row_of = {int(n): at for at, n in enumerate(told.iterations.tolist())}
        odd = {
            row_of[o.iteration]: Oddity(
                str(o.kind), iteration_sentence(case, o), o.score, o.ranks, self._entries(o.rows)
            )
            for o in told.flagged
        }
        return Iterations(
            np.full(len(told.iterations), attempt, np.int64),
            told.iterations,
            told.seconds,
            told.deviations,
            self.entry_of[told.first] if len(told.first) else np.empty(0, np.int64),
            odd,
        )


def _named(case: Case) -> dict[int, set[int]]:
    """Return for each rank those that it names in what it reports, and those that name it."""
    out: dict[int, set[int]] = {}
    for s in case.sightings:
        others = set(case.subjects(s)) - {s.rank} if s.rank >= 0 else set()
        if len(others) <= MOST_PEERS:
            for other in others:
                out.setdefault(s.rank, set()).add(other)
                out.setdefault(other, set()).add(s.rank)
    return out
