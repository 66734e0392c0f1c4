"""Events: Drain templates over the distinct shapes of messages, never over lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from l4tui.engine.drain import Drain

_BAR = re.compile(rb"%\|[^|]{0,999}\|")
MOST_COMPARED = 10_000_000  # words compared, about 0.2 µs each: random words would cost hours


class Events:
    """Maps message shapes to event ids, in the order they are first seen.

    Drain's parameters: depth 4 and similarity 0.5; 0.4 (the paper's) joins messages of equal length that an engineer
    tells apart. Digits are masked before Drain sees a shape, so its own masking stays off; its persistence is never
    used.
    """

    def __init__(self, similarity: float = 0.5, depth: int = 4, most_children: int = 100) -> None:
        self._parameters = (similarity, depth, most_children)
        self._drain: Drain | None = None
        self._of_shape: dict[bytes, int] = {}
        self._of_cluster: dict[int, int] = {}
        self._of_length: dict[int, int] = {}
        self._clusters: list[int] = []  # by event: Drain's number, or the negative length of texts told no further
        self._beside: dict[int, dict[str, int]] = {}  # length → first word → events: about what Drain compares
        self._compared = 0
        self._kept: Sequence[str] = ()  # templates of a stored index, until a new shape asks for Drain
        self._texts: Sequence[str] = ()  # templates as they were at so many shapes: every snapshot asks for them
        self._texts_at = 0

    def restore(self, of_shape: dict[bytes, int], templates: Sequence[str]) -> None:
        """Take up the events of shapes, in the order they were first seen, and their templates."""
        self._of_shape, self._kept = of_shape, templates

    def _started(self) -> Drain:
        """Return Drain as it was after the shapes seen so far."""
        if self._drain is None:
            from l4tui.engine.drain import Drain

            similarity, depth, most_children = self._parameters
            self._drain = Drain(
                depth=depth, sim_th=similarity, max_children=most_children, parametrize_numeric_tokens=False
            )
            for shape in self._of_shape:
                self._event(shape, self._drain)
            self._kept = ()
        return self._drain

    def __len__(self) -> int:
        return len(self._kept) or len(self._clusters)

    def of(self, shape: bytes) -> int:
        """Return the event of a message shape."""
        known = self._of_shape.get(shape)
        if known is None:
            drain = self._started()
            known = self._of_shape[shape] = self._event(shape, drain)
        return known

    def _event(self, shape: bytes, drain: Drain) -> int:
        """Find the event of a new shape; past MOST_COMPARED words texts of one length are one event."""
        text = template_text(shape)
        first, _, rest = text.partition(" ")
        length = rest.count(" ") + 2 if rest else 1
        beside = self._beside.setdefault(length, {})
        if first not in beside and len(beside) >= self._parameters[2]:
            first = "<*>"
        if self._compared > MOST_COMPARED:
            if length not in self._of_length:
                self._of_length[length] = self._new(-length)
            return self._of_length[length]
        self._compared += beside.get(first, 0) * length
        cluster, _ = drain.add_log_message(text)
        known = self._of_cluster.get(cluster.cluster_id)
        if known is None:
            known = self._of_cluster[cluster.cluster_id] = self._new(cluster.cluster_id)
            beside[first] = beside.get(first, 0) + 1
        return known

    def _new(self, cluster: int) -> int:
        self._clusters.append(cluster)
        return len(self._clusters) - 1

    def templates(self) -> Sequence[str]:
        """Return the template of each event as it is now."""
        if self._drain is None:
            return self._kept
        if self._texts_at == len(self._of_shape):
            return self._texts
        clusters = self._drain.id_to_cluster
        self._texts_at = len(self._of_shape)
        self._texts = [clusters[c].get_template() if c > 0 else " ".join(["<*>"] * -c) for c in self._clusters]
        return self._texts


def template_text(shape: bytes) -> str:
    """Return a shape as Drain's input: numbers, and how full a bar is drawn, as `<*>`; at most 100 words."""
    if b"%|" in shape:
        shape = _BAR.sub(b"%|<*>|", shape)
    words = shape.decode("utf-8", "replace").split()
    return " ".join(word if word == "<*>" else _masked(word) for word in words[:100])


def _masked(word: str) -> str:
    return word.replace("0x0", "<*>").replace("0", "<*>") if "0" in word else word
