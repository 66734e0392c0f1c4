"""What sets ranks apart: the stops of `d`, folds of the collapsed lens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from l4tui.engine.outline import LINE, RULE, Folds, Outline
from l4tui.handlers import handles
from l4tui.widgets.cells import clean

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("next_divergent", "previous_divergent")
def other_stop(screen: JobScreen, _: str) -> None:
    """To the next line that sets ranks apart or shows the verdict; the last visited one is where `d` goes on."""
    stops = screen.leads
    if not stops:
        is_judged = screen.ruling.is_final and screen.ruling.version == screen.snapshot.version
        words = "no rank stands apart" if is_judged else "no rank stands apart so far: the verdict is being made"
        screen.say("the ranks are still being compared" if screen.study is None else words)
        return
    known = [(stop.entry, stop.kind) for stop in stops]
    step = 1 if screen.acting == "next_divergent" else -1
    if screen.last_stop in known:
        at = (known.index(screen.last_stop) + step) % len(stops)
    else:
        at = 0 if step > 0 else len(stops) - 1
    screen.last_stop, stop = known[at], stops[at]
    screen.show_entry(stop.entry)
    kind = f"{screen.view.signs.of(stop.kind)} {stop.kind}"
    screen.say(f"{at + 1}/{len(stops)} {kind}: {clean(stop.words, screen.config.ascii)}", "odd")


@handles("fold")
def fold(screen: JobScreen, _: str) -> None:
    """Fold the cursor's iteration to its rule, or unfold it."""
    rows, key = screen.view.rows, screen.view.cursor_key
    if not isinstance(rows, Outline):
        screen.say("only rows are folded: v turns the lens")
    elif key is not None:
        screen.set_scope(replace(screen.scope, folds=rows.folds.turning(rows.block_of(key))), keep=False)


@handles("fold_all")
def fold_all(screen: JobScreen, _: str) -> None:
    """Fold all iterations to their rules, or unfold all."""
    if isinstance(screen.view.rows, Outline):
        screen.set_scope(replace(screen.scope, folds=Folds(not screen.view.rows.folds.all_closed)), keep=False)
    else:
        screen.say("only rows are folded: v turns the lens")


def turn_row(screen: JobScreen) -> bool:
    """Show the lines of the cursor's row below it, or hide them; a rule turns its block. False: there is one line."""
    rows, key = screen.view.rows, screen.view.cursor_key
    if not isinstance(rows, Outline) or key is None or LINE <= key < RULE:
        return False
    if key >= RULE:
        fold(screen, "")
        return True
    if key not in rows.folds.opened and rows.table.count[key] <= 1:
        return False
    screen.set_scope(replace(screen.scope, folds=rows.folds.turning_row(key)), keep=False)
    return True
