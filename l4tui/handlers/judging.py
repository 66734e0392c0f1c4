"""What a verdict is good for: scope the log to it, walk odd iterations, keep what was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from l4tui.engine.view import Filter
from l4tui.handlers import handles
from l4tui.widgets.cells import clean
from l4tui.widgets.form import Field, Form

if TYPE_CHECKING:
    from l4tui.engine.opinion import Opinion, Suspect
    from l4tui.screens.job import JobScreen

AROUND = 1  # iterations before and after the suspect's


@handles("scope_to_suspect")
def scope_to_suspect(screen: JobScreen, _: str) -> None:
    """Show only the suspect rank, its node, the peers it has to do with, and the iterations around its last one."""
    opinion = screen.ruling.opinion
    if opinion is None:
        screen.say("there is no verdict yet")
        return
    chosen = getattr(screen.pane, "suspect", None) or next(iter((*opinion.ranks, *opinion.nodes)), None)
    iteration = opinion.verdict.iteration if opinion.verdict.iteration is not None else -1
    if chosen is None and (opinion.verdict.scope != "job" or iteration < 0):
        screen.say("nobody is accused")
        return
    if chosen is not None and chosen.rank >= 0 and chosen.rank not in opinion.accused:
        iteration = chosen.iteration
    scope = replace(screen.scope, ranks=_ranks_of(screen, opinion, chosen), filters=(), filtering=True)
    if iteration >= 0:
        low, high = max(iteration - AROUND, 0), iteration + AROUND
        scope = scope.adding(Filter("iterations", f"{low}-{high}", True))
    entry = next((r.entries[0] for r in chosen.reasons if r.entries), -1) if chosen is not None else opinion.entry
    if screen.is_pane_alone:
        screen.close_pane()
    screen.set_scope(scope, entry=entry if entry >= 0 else None)


def _ranks_of(screen: JobScreen, opinion: Opinion, chosen: Suspect | None) -> str:
    """Write whom the suspect has to do with by the grammar of rank sets."""
    if chosen is None:
        return ""
    together = set(opinion.accused) if chosen.rank in opinion.accused else {chosen.rank}
    wanted = sorted((together | set(chosen.peers)) - {-1})
    node = chosen.node
    speaks = node in screen.snapshot.nodes and not set(node) & set(", \t!*?[")
    named = f"node:{node}" if speaks else ""
    return ",".join([*map(str, wanted), *([named] if named else [])])


@handles("next_odd", "previous_odd")
def walk_odd(screen: JobScreen, _: str) -> None:
    """To the next or previous iteration that is unlike those before it."""
    opinion = screen.ruling.opinion
    if opinion is None or not opinion.iterations.odd:
        screen.say("no iteration is odd" if opinion is not None else "there is no verdict yet")
        return
    table, step = opinion.iterations, 1 if screen.acting == "next_odd" else -1
    entry = screen.cursor_entry
    here = (-1, -1)
    if entry is not None:
        attempt = int(screen.snapshot.ranks.attempt[screen.snapshot.speaker[entry]])
        here = (max(attempt, 0), screen.snapshot.iteration_at(entry))
    order = sorted(table.odd, key=lambda row: (int(table.attempt[row]), int(table.number[row])))
    places = [(int(table.attempt[row]), int(table.number[row])) for row in order]
    ahead = [i for i, place in enumerate(places) if (place > here if step > 0 else place < here)]
    at = (ahead[0] if step > 0 else ahead[-1]) if ahead else (0 if step > 0 else len(order) - 1)
    row = order[at]
    screen.show_entry(int(table.entry[row]))
    around = "" if ahead else "went on from the top: " if step > 0 else "went on from the end: "
    screen.say(around + clean(table.odd[row].text, screen.config.ascii))


@handles("confirm")
def confirm(screen: JobScreen, _: str) -> None:
    """Ask for cause, remedy and note of an event, and file it so that it matches first next time."""
    pane = screen.pane if screen.pane is not None and screen.pane.has_focus else None
    seen, row = getattr(pane, "event", None), getattr(pane, "current", None)
    told = seen.entries if seen is not None else getattr(row, "entries", ())
    entry = told[0] if told else screen.cursor_entry
    if entry is None:
        screen.say("there is no line to confirm")
        return
    snapshot = screen.snapshot

    def work() -> None:
        from l4tui.engine.library import load

        template = snapshot.templates[int(snapshot.plans.event[snapshot.plan[entry]])]
        text = snapshot.text(entry)
        library = load()
        name = seen.pattern if seen is not None else ""
        known = library.get(name) if name else next((p for p in library.patterns if p.search(text)), None)
        screen.app.call_from_thread(_ask, screen, template, text, known)

    screen.in_thread(work, "confirm")


def _ask(screen: JobScreen, template: str, text: str, known: object) -> None:
    from l4tui.engine.library.pattern import CAUSES, Pattern

    pattern = known if isinstance(known, Pattern) else None
    fields = (
        Field("cause", "cause", pattern.cause if pattern else "", sorted(CAUSES)),
        Field("remedy", "remedy (several: with ;)", "; ".join(pattern.actions) if pattern else ""),
        Field("note", "note: what it means", pattern.meaning if pattern else ""),
    )

    def check(answers: Mapping[str, str]) -> str:
        return "" if answers["cause"] in CAUSES else f"one of {', '.join(sorted(CAUSES))}"

    def keep(answers: Mapping[str, str] | None) -> None:
        if answers is not None:
            screen.in_thread(lambda: _file(screen, template, text, pattern, answers), "confirm")

    about = clean(text, screen.config.ascii)[:400]
    screen.app.push_screen(Form("Confirm this event", about, fields, check), keep)


def _file(screen: JobScreen, template: str, text: str, known: object, answers: Mapping[str, str]) -> None:
    from l4tui.engine.library.confirming import confirmed
    from l4tui.engine.library.editing import add
    from l4tui.engine.library.pattern import Pattern, PatternError

    pattern = known if isinstance(known, Pattern) else None
    try:
        made = confirmed(template, text, **answers, known=pattern)
        add(made)  # tried in a process of its own, for a second
    except (PatternError, OSError) as error:
        screen.app.call_from_thread(screen.say, f"not kept: {error}", "error")
        return
    screen.app.call_from_thread(screen.judge_anew)
    screen.app.call_from_thread(screen.say, f"kept as {made.id}: it matches first from now on (l4tui library list)")
