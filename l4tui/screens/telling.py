"""What the job screen says around the log: header and status bar."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from l4tui.actions import shown_key
from l4tui.engine.filenames import short_names
from l4tui.engine.model import NO_TIME, Flag
from l4tui.engine.outline import Outline
from l4tui.engine.rankset import RankSet
from l4tui.engine.stages import NAMES
from l4tui.engine.stall import Pace, pace_of
from l4tui.widgets.header import Health, JobHeader, duration, short
from l4tui.widgets.status import Account, Situation, StatusBar

if TYPE_CHECKING:
    from l4tui.config import Config
    from l4tui.engine.divergence import Divergence
    from l4tui.engine.snapshot import Readable, Snapshot
    from l4tui.engine.view import Scope
    from l4tui.feed import Feed
    from l4tui.finder import Finder
    from l4tui.judge import Ruling
    from l4tui.panes.pane import Pane
    from l4tui.study import Study
    from l4tui.vitals import Vitals
    from l4tui.widgets.logview import LogView

SAID_S = 6.0  # a message stands this long, or until the next key
COARSE_S = 600  # a silence this long is told in whole minutes: nothing else on screen moves by then


class Telling:
    """Gathers what header and status bar show; both redraw only what has changed."""

    job_name: str
    notice: str
    unread: tuple[str, ...]
    config: Config
    keys: Mapping[str, str]  # key -> action
    feed: Feed
    snapshot: Snapshot
    study: Study | None
    vitals: Vitals
    ruling: Ruling
    scope: Scope
    follows: bool
    notes: dict[int, str]
    _named: tuple[tuple[Readable, ...], tuple[str, ...]] = ((), ())  # sources, and their names on screen
    pane: Pane | None
    view: LogView
    header: JobHeader
    status: StatusBar
    is_mounted: bool
    _finder: Finder | None
    _written: tuple[tuple[int, bool], float] = ((-1, False), 0.0)  # of how many sources, all read; Unix seconds
    _said: str
    _said_style: str
    _said_at: float

    @property
    @abstractmethod
    def cursor_entry(self) -> int | None:
        """The entry under the cursor."""

    @property
    @abstractmethod
    def divergence(self) -> Divergence | None:
        """What sets the row under the cursor apart."""

    @property
    def is_live(self) -> bool:
        """Whether the job has written something lately while we read."""
        grown = self.feed.grown_at
        return grown is not None and time.monotonic() - grown < self.vitals.patience_s

    def tell(self) -> None:
        """Say how things stand."""
        if not self.is_mounted:
            return
        self.header.show_health(self._health())
        self.status.show_situation(self._situation())

    def _health(self) -> Health:
        state, silent = self._state()
        vitals = self.vitals
        return Health(
            name=self.job_name,
            state=state,
            silent_s=silent,
            world_size=self.snapshot.world_size,
            heard=vitals.heard,
            nodes=len(self.snapshot.nodes),
            stage=NAMES[vitals.stage] if vitals.stage >= 0 else "",
            iteration=vitals.iteration,
            durations=vitals.durations,
            progress=self.feed.progress,
            indexed=self.feed.indexed,
            behind=self.feed.behind,
            troubles=(*self.unread, *self.feed.troubles),
            notice=self.notice,
            stall=self._stall(state),
            verdict=self._verdict(),
            verdict_style="error" if self.ruling.outcome in ("failed", "hung") else "warning",
            judged=self._judged_words(),
        )

    def _judged_words(self) -> str:
        """Say that a verdict is being made, or that it accuses nobody, or which keys lead on from it."""
        ruling = self.ruling
        if ruling.sentence:
            return self._ways()
        if not self.snapshot.length or self.feed.progress < 1.0:
            return ""
        if not ruling.outcome:
            return "being judged" if ruling.version < 0 else ""  # why there is none has been said
        return "no suspect" if ruling.is_final else "no suspect so far"

    def _ways(self) -> str:
        """Name the keys that lead from the verdict to its line and to its reasons."""
        ways = {"evidence": "evidence"} if self.ruling.entry >= 0 else {}
        ways |= {"pane_diagnosis": "why"}
        bound = {name: shown_key(key, self.config.ascii) for key, name in reversed(list(self.keys.items()))}
        return "  ".join(f"{bound[name]} {words}" for name, words in ways.items() if name in bound)

    def _verdict(self) -> str:
        """Word the verdict; one that more lines may change says so."""
        sentence = self.ruling.sentence
        return sentence if self.ruling.is_final or not sentence else f"so far: {sentence[0].lower()}{sentence[1:]}"

    def _state(self) -> tuple[str, int]:
        """Judge by growth and by the end of the log: (state, seconds of silence)."""
        if self.is_live:
            return "running", 0
        silent = self._quiet_s()
        if self.ruling.outcome in ("failed", "completed", "hung"):
            return self.ruling.outcome, 0
        if self.feed.progress >= 1.0 and self.vitals.ends_badly:
            return "failed", 0
        if self.vitals.stage == NAMES.index("teardown"):
            return "completed", 0
        if not self.follows or self.feed.progress < 1.0 or not (self.snapshot.length or self.feed.is_idle):
            return "read", 0
        if silent < self.vitals.patience_s:
            return "running", 0
        return "silent", int(silent) if silent < COARSE_S else int(silent) // 60 * 60

    def _stall(self, state: str) -> str:
        """Word what stalls, or threatens to: an iteration that is overdue, who fell silent first."""
        study = self.study
        if study is None or state in ("completed", "failed") or not len(study.ranks.time):
            return ""
        last = int(study.ranks.time.max())
        if last == NO_TIME:
            return ""
        quiet_s = self._quiet_s() if self.follows else 0.0
        pace = pace_of(study.timeline, study.ranks, last + int(quiet_s * 1e9))
        words = []
        if pace.pace is Pace.OVERDUE and self.is_live:
            since = pace.since_ns // 1_000_000_000
            words.append(f"iteration {pace.iteration:,} overdue: {duration(since)}, usual {short(pace.usual_ns / 1e9)}")
        if pace.silent_ranks:
            more = f" and {len(pace.silent_ranks) - 1:,} more" if len(pace.silent_ranks) > 1 else ""
            words.append(f"silent first: rank {pace.silent_ranks[0]}{more}")
        return ", ".join(words)

    def _quiet_s(self) -> float:
        """Seconds since anything was written."""
        if self.feed.grown_at is not None:
            return time.monotonic() - self.feed.grown_at
        sources = self.snapshot.sources
        known = len(sources), self.feed.progress >= 1.0
        if known != self._written[0]:  # asked once: 4,096 files take 15 ms, and their growth is seen anyway
            self._written = known, max((getattr(source, "mtime", 0) for source in sources), default=0) / 1e9
        written = self._written[1]
        return max(time.time() - written, 0.0) if written else 0.0

    def _unfinished(self) -> str:
        """Tell the line that is being written: it joins the log when it ends."""
        held = self.feed.unfinished
        if held is None:
            return ""
        path, text = held
        shown = text.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace").strip()
        return f"{PurePath(path).name} writes: {shown}" if shown and self.view.following else ""

    def _situation(self) -> Situation:
        counts = self.snapshot.counts()
        by_rank = sum(counts.per_rank.values())
        finder = self._finder
        said = self._said if time.monotonic() - self._said_at < SAID_S else ""
        view = self.view
        apart, place = self._place()
        return Situation(
            account=Account(by_rank, counts.mixed, counts.launcher, counts.unknown, counts.lines),
            lens=self._lens_words(),
            shown=view.rows.length,
            whole=self.snapshot.length,
            chips=self.scope.conditions,
            filtering=self.scope.filtering,
            search=finder.pattern if finder else "",
            found=finder.count if finder and (finder.count or not finder.running) else -1,
            searching=bool(finder and finder.running),
            following=view.following and self.follows,
            reading=self.feed.reading,
            live=self.is_live,
            waiting=view.waiting,
            apart=apart,
            place=place,
            row=view.row,
            message=said or self.feed.failure or self._unfinished(),
            message_style=self._said_style if said else "error" if self.feed.failure else "busy",
        )

    def _lens_words(self) -> str:
        if self.scope.lens != "lines":
            rows = self.view.rows
            seen = len(rows.table.row) if isinstance(rows, Outline) else self.snapshot.length
            share = f" {100 * seen // self.snapshot.length} %" if seen < self.snapshot.length else ""
            return f"{self.scope.lens}{share}"
        if not self.scope.ranks:
            return "merged"
        one = RankSet.parse(self.scope.ranks).single
        return f"rank {one}" if one is not None else "some ranks"

    def _apart(self, found: Divergence) -> str:
        """Word what sets a row apart."""
        signs = self.view.signs
        sign, so_far = (signs.of(found.kind), "") if found.is_settled else (signs.pending, "so far ")
        return f"{sign} {so_far}{found.words}"

    def _place(self) -> tuple[str, str]:
        """Say what sets the cursor's row apart, and where it stands."""
        if self.pane is not None and self.pane.has_focus and self.pane.place:
            return "", self.pane.place
        entry = self.cursor_entry
        if entry is None:
            return "", "nothing to show" if self.scope.narrowed else "empty" if self.feed.is_idle else "reading"
        snap = self.snapshot
        note = self.notes.get(entry)
        if note:
            return "", f"{self.view.signs.mark} {note}"
        place = snap.place(entry)
        speaker, plan = int(snap.speaker[entry]), int(snap.plan[entry])
        rank, node, site = int(snap.ranks.rank[speaker]), int(snap.ranks.node[speaker]), int(snap.plans.site[plan])
        found = self.divergence
        file = self._file_names(snap.sources)[place.source]
        machine = snap.nodes[node] if node >= 0 else ""
        iteration, stage = snap.iteration_at(entry), int(snap.stage[entry])
        shown = "stdin" if file == "-" else file
        parts = [f"{shown}:{place.line}", f"rank {rank}" if rank >= 0 else ""]  # what comes first is cut last
        parts.append(f"iteration {iteration:,}" if iteration >= 0 else NAMES[stage] if stage >= 0 else "")
        parts.append("" if machine and machine in file else machine)
        parts.append(snap.sites[site] if site >= 0 else "")
        if not snap.flags[entry] & Flag.TIMED and int(snap.clock[entry]) == NO_TIME:
            parts.append("no time")
        where = f" {self.view.signs.dot} ".join(part for part in parts if part)
        return self._apart(found) if found is not None else "", where

    def _file_names(self, sources: tuple[Readable, ...]) -> tuple[str, ...]:
        """Name files so that they differ; asked for each second, of thousands of sources that stay the same."""
        if self._named[0] is not sources:
            self._named = sources, short_names(tuple(source.path for source in sources))
        return self._named[1]
