"""What monitors and kernels tell beside the log: reasons for what the log shows, by place and time.

A sign of a machine (`telemetry/outside`) counts only where the job has trouble of the kind that it can explain, on the
same node and near in time: a fault near the failure, a slow device while the iterations take longer, an idle one when
progress stops, full memory where memory ran out; or where another kind of evidence accuses the same rank or node then.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import STATISTICS, Finding, Place, Strength
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.outcome import Outcome, outcome_of
from l4tui.engine.telemetry.curves import Mark
from l4tui.engine.telemetry.outside.hosts import node_named
from l4tui.engine.telemetry.outside.nearest import AFTER_S, BEFORE_S
from l4tui.engine.telemetry.outside.signs import ROOT_XIDS

KIND = "hardware"
SECOND = 10**9
FAULTS = frozenset(("xid", "sxid", "ecc", "lost", "mce", "panic"))  # explain a failure, and prove a broken part
STOPS = frozenset(("idle", "busy", "link", "nvlink", "pcie", "iowait", "fs", "hang", "oom"))  # explain why all wait
SLOWS = frozenset(("clock", "thermal", "iowait", "link", "nvlink", "memory"))  # explain why iterations take longer
CAUSES = {
    "memory": "unknown", "oom": "oom_host", "clock": "straggler", "thermal": "straggler", "link": "network",
    "nvlink": "gpu", "iowait": "storage", "fs": "storage", "idle": "unknown", "busy": "straggler", "hang": "hang",
}  # fmt: skip
ACTIONS = {
    "straggler": ("check clocks, temperature and neighbours of that GPU", "drain the node if it persists"),
    "gpu": ("drain the node; reset the GPU",),
    "network": ("check cable and port of that node",),
    "storage": ("look at storage mounts of the node",),
}  # fmt: skip
SLOWER = 1.2  # times the usual duration
LEAST = 5  # iterations on either side of an onset
GRACE_S = 60  # monitors sample late, clocks differ
MOST = 3  # signs of one kind told of one target
_CORRECTED = re.compile(r"(?i)\bcorrected\b|\d CE\b")
_XID = re.compile(r"Xid (?:\(PCI:[^)]*\): )?(\d+)")


class Trouble(NamedTuple):
    """When a failed attempt stopped getting on, and when that was first told (ns)."""

    stopped: int
    told: int


class Sign(NamedTuple):
    """A mark with its place: the file, the row of the log that is the same line, and whom it befell."""

    mark: Mark
    path: str
    row: int  # UNKNOWN: of no log
    rank: int
    node: str | None

    @property
    def end(self) -> int:
        """Return when the state ended (ns)."""
        return self.mark.until if self.mark.until != NO_TIME else self.mark.time


def explain(case: Case, found: list[Finding]) -> list[Finding]:
    """Return a finding for each sign of a machine that explains trouble of its rank or node."""
    if not case.outside:
        return []
    trouble, begins = _trouble(case), _begins(case)
    out: dict[tuple[str, int, str | None], list[Finding]] = defaultdict(list)
    for sign in _signs(case):
        because = _because(case, sign, found, trouble, begins)
        if because and len(told := out[sign.mark.kind, sign.rank, sign.node]) < MOST:
            told.append(_finding(case, sign, because))
    return _spared(case, out)


def _because(case: Case, sign: Sign, found: Sequence[Finding], trouble: Trouble | None, begins: np.ndarray) -> str:
    """Say what a sign explains; empty: nothing."""
    kind, time = sign.mark.kind, sign.mark.time
    if trouble is not None:
        if kind in FAULTS and trouble.told - BEFORE_S * SECOND <= time <= trouble.told + AFTER_S * SECOND:
            return _distance(time, trouble.told, "the failure was told")
        lasted = sign.end >= trouble.stopped - GRACE_S * SECOND
        if kind in STOPS and lasted and -GRACE_S <= (trouble.stopped - time) / SECOND <= BEFORE_S:
            return _distance(time, trouble.stopped, "the job stopped")
    if kind in SLOWS and (ratio := _slower(sign, begins)) >= SLOWER:
        return f"the iterations take {ratio:.2g} times as long meanwhile"
    return next((words for f in found if (words := _confirms(case, sign, f))), "")


def _confirms(case: Case, sign: Sign, f: Finding) -> str:
    """Say how a sign bears out another finding; empty: not at all."""
    same = f.rank == sign.rank if sign.rank >= 0 and f.rank >= 0 else _node_of(case, f) == sign.node is not None
    if not same or f.kind in STATISTICS or f.strength is Strength.NONE or not f.rows:
        return ""
    ran_out = f.cause in ("oom_gpu",) if sign.rank >= 0 else f.cause in ("oom_host", "killed")
    if sign.mark.kind == "memory" and not ran_out:
        return ""
    times = case.journal.clock[np.array(f.rows, np.int64)]
    times = times[times != NO_TIME]
    if not len(times):
        return ""
    first, last = int(times.min()), int(times.max())
    near = sign.mark.time <= last + AFTER_S * SECOND and sign.end >= first - _reach(sign) * SECOND
    return _distance(sign.mark.time, first, "its lines tell of it") if near else ""


def _reach(sign: Sign) -> int:
    """Seconds that may pass between a sign and what it explains: states end with what they do."""
    return BEFORE_S if sign.mark.until == NO_TIME else GRACE_S


def _node_of(case: Case, f: Finding) -> str | None:
    return case.node_of(f.rank) if f.rank >= 0 else f.node


def _distance(time: int, then: int, what: str) -> str:
    seconds = (then - time) / SECOND
    return f"{abs(seconds):,.0f} s {'before' if seconds >= 0 else 'after'} {what}"


def _trouble(case: Case) -> Trouble | None:
    """When the attempt failed; None where it did not."""
    if case.completed or outcome_of(case) not in (Outcome.FAILED, Outcome.HUNG):
        return None
    j = case.journal
    bad = np.array([s.row for s in case.roles(Role.INITIATING, Role.CASCADE)], np.int64)
    times = j.clock[bad] if len(bad) else j.clock[case.mask]
    times = times[times != NO_TIME]
    ticks = j.clock[case.ticks]
    ticks = ticks[ticks != NO_TIME]
    if not len(times):
        return None
    told = int(times.min()) if len(bad) else int(times.max())
    return Trouble(min(int(ticks.max()), told) if len(ticks) else told, told)


def _begins(case: Case) -> np.ndarray:
    """Return when each iteration was marked first (ns), ascending."""
    j, rows = case.journal, case.ticks
    rows = rows[j.clock[rows] != NO_TIME]
    if not len(rows):
        return np.empty(0, np.int64)
    order = np.lexsort((j.clock[rows], j.iteration[rows]))
    _, first = np.unique(j.iteration[rows][order], return_index=True)
    return np.sort(j.clock[rows][order][first])


def _slower(sign: Sign, begins: np.ndarray) -> float:
    """How many times as long iterations take while a state lasts as before it."""
    lasts = np.diff(begins)
    if sign.mark.until == NO_TIME or len(lasts) < 2 * LEAST:
        return 0.0
    before = begins[1:] < sign.mark.time
    inside = (begins[:-1] >= sign.mark.time - np.median(lasts)) & (begins[1:] <= sign.end + GRACE_S * SECOND)
    if before.sum() < LEAST or inside.sum() < LEAST or np.median(lasts[before]) <= 0:
        return 0.0
    return float(np.median(lasts[inside]) / np.median(lasts[before]))


def _signs(case: Case) -> Iterator[Sign]:
    """Place the marks; those of lines that the library knows are judged there."""
    j = case.journal
    told = {s.row for s in case.sightings}
    for one in case.outside:
        rows = _rows(case, one.path)
        for mark in one.marks:
            row = rows.get(mark.line, UNKNOWN)
            time = int(j.clock[row]) if row >= 0 else mark.time
            if row in told or time == NO_TIME or not _counts(mark):
                continue
            node = _node(case, mark.node) or (case.node_at(row) if row >= 0 else None)
            rank = _rank(case, node, mark)
            if rank >= 0 or node is not None:
                yield Sign(mark._replace(time=time), one.path, row, rank, node)


def _rows(case: Case, path: str) -> dict[int, int]:
    """Return the rows of a source by line; none where the file is no log of the job."""
    j = case.journal
    if path not in j.sources:
        return {}
    rows = np.flatnonzero(j.source == j.sources.index(path))
    return dict(zip(j.line[rows].tolist(), rows.tolist(), strict=True))


def _counts(mark: Mark) -> bool:
    """Tell whether a mark can accuse: corrected errors and what applications cause cannot."""
    if mark.kind == "xid" and (code := _XID.search(mark.text)):
        return int(code[1]) in ROOT_XIDS
    return not _CORRECTED.search(mark.text)


def _node(case: Case, name: str | None) -> str | None:
    """Return a machine's name as the job writes it."""
    known = {*case.journal.nodes, *case.journal.node_ranks, *(n for r in case.ranks if (n := case.node_of(r)))}
    return node_named(name, sorted(known))


def _rank(case: Case, node: str | None, mark: Mark) -> int:
    """Return the rank that uses a device: by its address, else this local rank's of the node, or of the only one."""
    j, index = case.journal, mark.slot
    if index == UNKNOWN:
        return case.user_of(mark.device, node)
    nodes = {case.node_of(r) for r in case.ranks}
    if node is None and len(nodes) > 1:
        return UNKNOWN
    there = sorted(set(j.node_ranks.get(node or "", ())) | {r for r in case.ranks if case.node_of(r) == node})
    if node is None or (not there and len(nodes) == 1):
        there = list(case.ranks)
    local = np.unique(j.rank[(j.local_rank == index) & np.isin(j.rank, there)])
    if len(local) == 1:
        return int(local[0])
    return int(there[index]) if index < len(there) else UNKNOWN


def _finding(case: Case, sign: Sign, because: str) -> Finding:
    mark, j = sign.mark, case.journal
    where = f"rank {sign.rank}" if sign.rank >= 0 else str(sign.node)
    at = datetime.fromtimestamp(mark.time // SECOND, UTC)
    cause = CAUSES.get(mark.kind, "gpu")
    if mark.kind == "memory":
        cause = "oom_gpu" if sign.rank >= 0 else "oom_host"
    ticks = case.ticks[j.clock[case.ticks] <= mark.time] if len(case.ticks) else case.ticks
    return Finding(
        KIND,
        Strength.STRONG if mark.kind in FAULTS and "as long" not in because else Strength.WEAK,
        f"{where}, {mark.text}, at {at:%H:%M:%S}, {because}",
        sign.rank,
        sign.node if sign.rank < 0 else None,
        (sign.row,) if sign.row >= 0 else (),
        sign.row >= 0 and mark.kind in FAULTS,
        int(j.iteration[ticks].max()) if len(ticks) else UNKNOWN,
        cause=cause,
        actions=ACTIONS.get(cause, ()),
        places=() if sign.row >= 0 or not mark.line else (Place(sign.path, mark.line, mark.text),),
    )


def _spared(case: Case, out: dict[tuple[str, int, str | None], list[Finding]]) -> list[Finding]:
    """Leave out what befell more than half of the nodes alike: a cause they share lies elsewhere."""
    nodes = {case.node_of(r) for r in case.ranks} - {None}
    hit = Counter(kind for kind, rank, _ in out if rank < 0)
    return [
        f for (kind, rank, _), told in out.items() if rank >= 0 or len(nodes) < 2 or 2 * hit[kind] <= len(nodes)
        for f in told
    ]  # fmt: skip
