"""What stands above the log: the job, how it is, where it has got to."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.widgets.bars import GAP, Part
from l4tui.widgets.barwidget import Bars
from l4tui.widgets.cells import clean, folded, width_of
from l4tui.widgets.glyphs import Glyphs, sparkline

DURATIONS = 16  # iterations in the sparkline
TALL = 20  # rows of a screen from which a verdict may take two: its end says why
BEHIND = 32 << 20  # bytes not yet read from which it is worth telling: half a second's work


class Health(NamedTuple):
    """How the job is; `state` is running, silent, hung, failed, completed or read (nothing follows)."""

    name: str = ""
    state: str = "read"
    silent_s: int = 0
    world_size: int = -1
    heard: int = 0
    nodes: int = 0
    stage: str = ""
    iteration: int = -1
    durations: tuple[float, ...] = ()  # seconds, oldest first
    progress: float = 1.0  # share of the bytes that is indexed
    indexed: tuple[int, int] = (0, 0)  # these bytes, and all; 0: nobody can tell
    behind: int = 0  # bytes written since that are not yet read
    troubles: tuple[str, ...] = ()  # what could not be read or kept
    verdict: str = ""
    verdict_style: str = "warning"
    judged: str = ""  # that it is being judged, that there is no suspect, or the keys that lead on from the verdict
    notice: str = ""  # left-out files, mirrors
    stall: str = ""  # what stalls, or threatens to


class JobHeader(Bars):
    """One row, one more for what could not be read, one or two more for the verdict."""

    _health: Health | None = None

    def show_health(self, health: Health) -> None:
        """Show how the job is."""
        self._health = health
        words = clean(health.verdict, self.signs.ellipsis == "~")
        verdict = [[Part(row, health.verdict_style)] for row in verdict_rows(words, *self.app.size)] if words else []
        ways = Part(health.judged, "quiet", 1, right=True)
        if verdict and width_of(verdict[-1][0].text) + len(GAP) + width_of(ways.text) <= self.app.size.width:
            verdict[-1].append(ways)  # beside its last words, else where the first row has room
            health = health._replace(judged="")
        rows = [state_row(health, self.signs)]
        if health.troubles:
            count = len(health.troubles)
            first = clean(health.troubles[0], self.signs.ellipsis == "~")
            rows.append([Part(f"{count} problems (f):" if count > 1 else "", "error"), Part(first, "error")])
        self.show(rows + verdict)

    def on_resize(self) -> None:
        """Fold the verdict for the new width."""
        if self._health is not None:
            self.show_health(self._health)


def verdict_rows(words: str, width: int, height: int) -> list[str]:
    """Fold a verdict for a screen; a last row that is too long for it is cut when drawn."""
    return folded(words, width, 2 if height >= TALL else 1)


def state_row(health: Health, signs: Glyphs) -> list[Part]:
    """Lay out the first row; what gives way first is said by the parts."""
    words, style, sign = {
        "running": ("running", "ok", signs.running),
        "silent": (f"silent {duration(health.silent_s)}", "warning", signs.silent),
        "failed": ("failed", "error", signs.failed),
        "hung": ("hung", "error", signs.silent),
        "completed": ("completed", "ok", signs.completed),
    }.get(health.state, ("", "quiet", ""))
    parts = [Part(clean(health.name) or "l4tui", "name"), Part(f"{sign} {words}".strip(), style)]
    if health.stall:
        parts.append(Part(f"{signs.silent} {health.stall}", "warning", 2))
    if health.heard:
        world = f"{health.heard:,}/{health.world_size:,}" if health.world_size > 0 else f"{health.heard:,}"
        full = health.world_size <= 0 or health.heard >= health.world_size
        parts.append(Part(f"{world} ranks", "plain" if full else "warning", 4))
        if health.nodes > 1:
            parts.append(Part(f"{health.nodes:,} nodes", "quiet", 8))
    if health.stage:
        parts.append(Part(health.stage.replace("_", " "), "plain", 6))
    if health.iteration >= 0:
        parts.append(Part(f"iteration {health.iteration:,}", "plain", 3))
    if any(health.durations):  # all 0: the log's times are too coarse to tell
        parts.append(Part(sparkline(list(health.durations[-DURATIONS:]), signs.bars), "busy", 9))
        parts.append(Part(short(health.durations[-1]), "quiet", 7))
    if health.notice:
        parts.append(Part(health.notice, "quiet", 10))
    if health.judged:
        parts.append(Part(health.judged, "quiet", 5, right=True))
    if health.progress < 1.0:
        parts += indexing(health)
    elif health.behind >= BEHIND:
        parts.append(Part(f"behind by {bytes_words(health.behind)}", "warning", 1, right=True))
    return parts


def indexing(health: Health) -> list[Part]:
    """Say how much is read; without a size there is no share."""
    done, total = health.indexed
    if done and not total:
        return [Part(f"indexing, {bytes_words(done)} read", "busy", 2, right=True)]
    parts = [Part(f"indexing {min(int(health.progress * 100), 99)} %", "busy", 2, right=True)]
    if total:
        parts.append(Part(f"{bytes_words(done)} of {bytes_words(total)}", "quiet", 11, right=True))
    return parts


def bytes_words(count: int) -> str:
    """Write a number of bytes with a unit."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if unit != "GB" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def duration(seconds: float) -> str:
    """Write a duration with its two largest units."""
    whole = int(seconds)
    for size, unit, smaller_size, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // smaller_size} {smaller}"
    return f"{whole} s"


def short(seconds: float) -> str:
    """Write a short duration with a fitting unit; 0 has none finer: times of whole seconds tell no less."""
    if seconds <= 0:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s" if seconds < 120 else duration(seconds)
