"""The diagnosis: both rankings side by side with their reasons, the events to read, what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from l4tui.engine.evidence.finding import Place
from l4tui.engine.opinion import Opinion, Reason, Seen, Suspect
from l4tui.panes.listing import Item, ListPane, ranks_in_words
from l4tui.screens.sheets import open_place
from l4tui.widgets.bars import Part
from l4tui.widgets.cells import fit, width_of
from l4tui.widgets.header import verdict_rows

if TYPE_CHECKING:
    from l4tui.judge import Ruling
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

NAME_MAX, NODE_MAX = 14, 16  # cells
EVIDENCE, STATISTICS = 9, 9
QUOTES, FEW = 5, 2  # lines shown below a reason or event; below what statistics say
ROLES = {"initiating": "error", "cascade": "warning", "teardown": "quiet"}
ROLE_WORDS = {
    "initiating": "what started it",
    "cascade": "what followed from it",
    "teardown": "the launcher cleaning up",
}
OPEN_ROLES = ("initiating",)
TEMPLATE_LEAST = 24  # cells of a template beside which more is told
LAST = 1 << 30  # place of who was not compared
_Owner = TypeVar("_Owner", Suspect, Seen)
UNSURE = 0.5  # confidence below which nobody should act without looking


class Shown(ListPane):
    """Shows an opinion as a list of sections; suspects and events unfold."""

    heading = "Diagnosis"
    lasting = ("unfolded", "by_statistics")

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.opinion: Opinion | None = None
        self.by_statistics = False  # the ranking that sorts
        self.unfolded: set[object] = set()
        self._items: list[Item] = []
        self._made_for = 0  # width
        self.judged(screen.ruling)

    def gather(self, study: Study) -> object:
        """Nothing: the judge brings all."""
        return None

    def judged(self, ruling: Ruling) -> None:
        """Take over a verdict, keeping the cursor's row and what is unfolded."""
        first = self.opinion is None
        if ruling.opinion is not None:
            self.opinion = ruling.opinion
        if first and self.opinion is not None:
            lead = self._sorted(self.opinion.ranks)[:1] or self._sorted(self.opinion.nodes)[:1]
            self.unfolded |= {("suspect", s.name) for s in lead if s.decibans > 0}
            self.unfolded |= {("role", role) for role in OPEN_ROLES}
        self._remake(first)

    def leave(self) -> dict[str, object]:
        """Nothing, while there has been no verdict to unfold."""
        return super().leave() if self.opinion is not None else {}

    def recall(self, left: dict[str, object]) -> None:
        """Unfold what was unfolded."""
        super().recall(left)
        if left:
            self._remake()
            self.stand_on(left["key"])
            self._made_for = -1  # to be wrapped anew, but the cursor stays

    def _remake(self, first: bool = False) -> None:
        key = self.current.key
        self._made_for = self.size.width
        self._items = list(self._made(max(self.size.width, 40)))
        found = self.place_of(key) if key is not None else -1
        if first or key is None:
            suspects = (i for i, item in enumerate(self._items) if isinstance(item.thing, Suspect))
            found = next(suspects, -1)
        self.at = found if found >= 0 else self.at
        self.reveal()
        self.refresh()

    def on_resize(self) -> None:
        """Wrap anew."""
        if self.size.width != self._made_for:
            self._remake(self._made_for == 0)
            self.top = 0
            self.reveal()

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self._items)

    def item(self, index: int) -> Item:
        """Give a row."""
        return self._items[index]

    # What is shown

    def title(self) -> list[Part]:
        """Say outcome, confidence, stage, iteration, attempt."""
        o, parts = self.opinion, [Part(self.heading, "name")]
        if o is None:
            return parts
        v = o.verdict
        style = "error" if o.outcome in ("failed", "hung") else "ok" if o.outcome == "completed" else "plain"
        parts.append(Part(o.outcome, style, 1))
        parts.append(Part({"none": "nobody", "job": "the whole job"}.get(v.scope, ""), "warning", 2))
        if v.scope != "none":
            unsure = "unsure, " if v.confidence < UNSURE else ""
            parts.append(Part(f"{unsure}{v.confidence * 100:.0f} % sure", "warning" if unsure else "plain", 3))
            parts.append(Part(v.cause.replace("_", " ") if v.cause != "unknown" else "", "plain", 4))
        parts.append(Part((v.stage or "").replace("_", " "), "quiet", 6))
        parts.append(Part(f"iteration {v.iteration:,}" if v.iteration is not None else "", "quiet", 5))
        if len(o.attempts) > 1:
            parts.append(Part(f"attempt {o.attempt} of {o.attempts[0]}-{o.attempts[-1]}", "quiet", 7))
        if not self.host.ruling.is_final:
            parts.append(Part("so far", "busy", 4))
        parts.append(Part("z reasons  v sorts  A scopes  C confirms", "quiet", 90, right=True))
        return parts

    def _made(self, width: int) -> Iterator[Item]:
        o = self.opinion
        if o is None:
            judged = "the job is being judged" if not self.host.ruling.outcome else "no verdict"
            yield Item((Part(judged, "quiet"),))
            return
        yield from self._verdict(o, width)
        if o.job:
            yield Item()
            yield Item((Part("The whole job", "name"),))
            for n, reason in enumerate(o.job):
                yield from self._reason(("job", n), reason, 1, width)
        yield from self._ranking("Ranks", self._sorted(o.ranks), width)
        yield from self._ranking("Nodes", self._sorted(o.nodes), width)
        yield from self._events(o, width)

    def _verdict(self, o: Opinion, width: int) -> Iterator[Item]:
        """The sentence where the header has no room for it; what matched, and what to do."""
        sentence = self.words(o.verdict.summary)
        style = "error" if o.outcome in ("failed", "hung") and o.verdict.scope != "none" else "plain"
        entries = (o.entry,) if o.entry >= 0 else ()
        above = verdict_rows(f"so far: {self.host.ruling.sentence}", *self.host.size)[-1]
        told = (self.host.ruling.sentence and width_of(above) <= self.host.size.width) or o.job
        if not told:
            for n, line in enumerate(textwrap.wrap(sentence, width - 2) or [""]):
                yield Item((Part(line, style),), ("verdict", n) if entries and not n else None, entries)
        lead = next((e for e in o.events if e.role == "initiating" and e.pattern and e.meaning), None)
        if lead is not None:
            yield from self._pattern(lead, width)
        for action in o.verdict.actions:
            yield from self._wrapped(f"{self.signs.more} {action}", width, "busy")
        if o.whole > o.judged:
            words = f"judged by {o.judged:,} lines that matter, of {o.whole:,}"
            yield Item((Part(words, "quiet"),))

    def _pattern(self, seen: Seen, width: int) -> Iterator[Item]:
        yield from self._wrapped(_meaning(seen, "matched "), width, "plain")

    def _wrapped(self, text: str, width: int, style: str, indent: int = 0, then: int = 2) -> Iterator[Item]:
        lines = textwrap.wrap(self.words(text), max(width - 2 - indent, 20), subsequent_indent=" " * then)
        for line in lines:
            yield Item((Part(" " * indent + line, style),))

    # Rankings

    def _sorted(self, suspects: tuple[Suspect, ...]) -> list[Suspect]:
        if self.by_statistics:
            return sorted(suspects, key=lambda s: (s.l4_place or LAST, -s.decibans))
        return list(suspects)

    def _ranking(self, what: str, suspects: list[Suspect], width: int) -> Iterator[Item]:
        if not suspects:
            return
        yield Item()
        names = min(max(width_of(s.name) for s in suspects), NAME_MAX)
        nodes = min(max((width_of(s.node) for s in suspects if s.rank >= 0), default=0), NODE_MAX)
        evidence, statistics = ("evidence", "L4 degree")
        sorted_by = statistics if self.by_statistics else evidence
        head = f"{what:<{names + 2}}" + (f"{'':<{nodes + 2}}" if nodes else "")
        columns = (Part(f"{evidence:>{EVIDENCE}}", "busy" if sorted_by == evidence else "quiet", glue=True),
                   Part(f"{statistics:<{STATISTICS}}", "busy" if sorted_by == statistics else "quiet"))  # fmt: skip
        yield Item((Part(head, "name"), *columns, Part(f"by {sorted_by}; v by the other", "quiet", 9)))
        for s in suspects:
            yield from self._suspect(s, names, nodes, width)

    def _suspect(self, s: Suspect, names: int, nodes: int, width: int) -> Iterator[Item]:
        assert self.opinion is not None
        key = ("suspect", s.name)
        is_accused = s.rank in self.opinion.accused if s.rank >= 0 else self._is_accused_node(s)
        style = "error" if is_accused else "plain" if s.decibans else "quiet"
        fold = " " if not s.reasons else self.signs.unfolded if key in self.unfolded else self.signs.folded
        evidence = f"+{s.decibans:.0f}" if s.decibans > 0 else "-"
        sign = self.signs.rank_suspect if is_accused else " "
        place = f"#{s.l4_place} {s.l4_degree:.2f}" if s.l4_place else "-"
        parts = [Part(f"{fold} {fit(self.words(s.name), names)}", style)]
        if nodes and s.rank >= 0:
            parts.append(Part(fit(self.words(s.node), nodes), "quiet"))
        parts.append(Part(f"{sign} {evidence:>{EVIDENCE - 4}}  ", style, glue=False))
        parts.append(Part(f"{place:<{STATISTICS}}", "odd" if 0 < s.l4_place <= 3 else "quiet", glue=True))
        why = self._sum(s) if s.decibans else s.reasons[0].text if s.reasons else ""
        parts.append(Part(self.words(why), "plain" if is_accused else "quiet"))
        entries = next((r.entries for r in s.reasons if r.entries), ())
        yield Item(tuple(parts), key, entries, s)
        if key in self.unfolded:
            for n, reason in enumerate(s.reasons):
                yield from self._reason((*key, n), reason, 3, width)

    def _is_accused_node(self, s: Suspect) -> bool:
        assert self.opinion is not None
        o = self.opinion
        lead = o.nodes[0].name if o.nodes and o.nodes[0].decibans > 0 else ""
        return o.verdict.scope in ("ranks", "nodes") and s.name == lead

    @staticmethod
    def _sum(s: Suspect) -> str:
        return ", ".join(f"+{r.decibans:.0f} {SHORT.get(r.kind, r.kind)}" for r in s.reasons if r.decibans > 0)

    def _reason(self, key: tuple[object, ...], reason: Reason, indent: int, width: int) -> Iterator[Item]:
        assert self.opinion is not None
        worth = f"+{reason.decibans:.0f}" if reason.decibans > 0 else self.signs.dot
        lead = f"{worth:>{indent + 2}} "
        lines = textwrap.wrap(self.words(reason.text), max(width - 2 - len(lead), 20)) or [""]
        for n, line in enumerate(lines):
            start = lead if n == 0 else " " * len(lead)
            parts = (Part(start, "busy"), Part(line, "plain", glue=True))
            yield Item(parts, ("reason", *key) if n == 0 else None, reason.entries, reason)
        yield from self._quotes(key, reason.entries, len(lead), FEW if reason.kind == "spatial" else QUOTES)
        for place in reason.places:
            where = Part(" " * len(lead) + self.words(f"{PurePath(place.path).name}:{place.line}"), "busy")
            yield Item((where, Part("Enter shows the table there", "quiet")), ("place", *key, place), (), place)

    def _quotes(
        self, key: tuple[object, ...], entries: tuple[int, ...], indent: int, most: int = QUOTES
    ) -> Iterator[Item]:
        assert self.opinion is not None
        for entry in entries[:most]:
            if entry in self.opinion.quotes:
                place, text = self.opinion.quotes[entry]
                parts = (Part(" " * indent + self.words(place), "busy"), Part(self.words(text).strip(), "quiet"))
                yield Item(parts, ("line", *key, entry), (entry,))
        if len(entries) > most:
            yield Item((Part(f"{'':<{indent}}and {len(entries) - most:,} more: Enter walks them", "quiet"),))

    # Events

    def _events(self, o: Opinion, width: int) -> Iterator[Item]:
        for role, style in ROLES.items():
            seen = [e for e in o.events if e.role == role]
            if not seen:
                continue
            key = ("role", role)
            is_open = key in self.unfolded
            yield Item()
            lines = sum(e.lines for e in seen)
            count = f"{len(seen):,} event{'s' if len(seen) > 1 else ''}, {lines:,} line{'s' if lines > 1 else ''}"
            fold = self.signs.unfolded if is_open else self.signs.folded
            head = [Part(f"{fold} {role.capitalize()}", style), Part(ROLE_WORDS[role], "quiet", 3)]
            yield Item((*head, Part(count, "quiet", 2)), key, seen[0].entries)
            for n, e in enumerate(seen if is_open else ()):
                yield from self._event((role, e.event, e.pattern, n), e, width)

    def _event(self, key: tuple[object, ...], e: Seen, width: int) -> Iterator[Item]:
        times = f"{e.lines:>5,} {self.signs.times}"
        parts = [Part(f" {times}", "quiet"), Part(self.words(e.template), "plain")]
        facts = [ranks_in_words(e.ranks), f"iteration {e.iteration:,}" if e.iteration >= 0 else "", e.pattern]
        told = f" {self.signs.dot} ".join(f for f in facts if f)
        parts.append(Part(told, "quiet", 2, right=True))
        room = width - width_of(parts[0].text) - width_of(told) - 7
        if room < TEMPLATE_LEAST:
            told, room = "", width - width_of(parts[0].text) - 4
            parts.pop()
        parts[1] = Part(fit(parts[1].text, min(room, width_of(parts[1].text)), self.signs.ellipsis), "plain")
        whole = ("event", *key)
        yield Item(tuple(parts), whole, e.entries, e)
        if whole in self.unfolded:
            if e.meaning:
                yield from (item._replace(thing=e) for item in self._explained(e, width))
            yield from self._quotes(whole, e.entries, 9)

    def _explained(self, e: Seen, width: int) -> Iterator[Item]:
        yield from self._wrapped(_meaning(e), width, "plain", 9)
        for remedy in e.remedies:
            yield from self._wrapped(f"{self.signs.more} {remedy}", width, "busy", 9)

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Unfold, sort; the rest as lists do."""
        if action in ("fold", "left", "right"):
            self._fold(None if action == "fold" else action == "right")
        elif action == "fold_all":
            self._fold_all()
        elif action == "open" and (places := self._places()):
            open_place(self.host, places[0])
        elif action == "lens":
            self.by_statistics = not self.by_statistics
            self._remake(first=True)
            self.host.say("sorted by the L4 degree" if self.by_statistics else "sorted by evidence")
        else:
            return super().does(action, argument)
        return True

    def _places(self) -> tuple[Place, ...]:
        """Return the lines beside the log that the cursor's row tells of, where none of the log do."""
        thing = self.current.thing
        if isinstance(thing, Reason) and not thing.entries:
            return thing.places
        return (thing,) if isinstance(thing, Place) else ()

    def _fold(self, unfolds: bool | None) -> None:
        index = self.at
        while index > 0 and not _folds(self._items[index]):
            index -= 1
        key = self._items[index].key
        if not _folds(self._items[index]):
            return
        self.at = index
        if unfolds is None:
            unfolds = key not in self.unfolded
        (self.unfolded.add if unfolds else self.unfolded.discard)(key)
        self._remake()

    def _fold_all(self) -> None:
        kinds = ("role", "suspect", "event")
        if any(key[0] in kinds for key in self.unfolded if isinstance(key, tuple)):
            self.unfolded.clear()
        else:
            self.unfolded |= {("role", role) for role in ROLES}
            self._remake()
            self.unfolded |= {item.key for item in self._items if _folds(item)}
        self._remake()

    @property
    def suspect(self) -> Suspect | None:
        """The suspect that the cursor's row belongs to, else the one accused most."""
        return self._owner(Suspect, ("role", "event"))

    @property
    def event(self) -> Seen | None:
        """The event that the cursor's row belongs to."""
        return self._owner(Seen, ("role", "suspect"))

    def _owner(self, kind: type[_Owner], others: tuple[str, str]) -> _Owner | None:
        """Find the thing of a kind that the cursor's row is or stands below, up to a head of another kind."""
        for item in reversed(self._items[: self.at + 1]):
            if isinstance(item.thing, kind):
                return item.thing
            if isinstance(item.key, tuple) and item.key[0] in others:
                break
        return None


SHORT = {
    "explicit_blame": "named outright",
    "hardware": "hardware told",
    "external": "told from outside",
    "progress_gap": "stopped first",
    "silence": "fell silent",
    "first_exception": "first error",
    "peer_vote": "peers name it",
    "value": "odd value",
    "straggler": "slow before others",
    "spatial": "other events (L4)",
    "temporal": "odd iteration (L4)",
    "error_time": "earliest error",
    "error_count": "most errors",
}


def _meaning(e: Seen, lead: str = "") -> str:
    """Say what a pattern means; where a person's own one comes from: those we bring have numbers that tell nobody."""
    source = f" ({e.reference})" if e.is_own and e.reference else ""
    return f"{'your own pattern ' if e.is_own else lead}{e.pattern}: {e.meaning}{source}"


def _folds(item: Item) -> bool:
    return isinstance(item.key, tuple) and item.key[0] in ("role", "suspect", "event")
