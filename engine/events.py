"""Events: Drain templates over the distinct shapes of messages, never over lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drain3.drain import Drain


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
        self._clusters: list[int] = []
        self._kept: Sequence[str] = ()  # templates of a stored index, until a new shape asks for Drain

    def restore(self, of_shape: dict[bytes, int], templates: Sequence[str]) -> None:
        """Take up the events of shapes, in the order they were first seen, and their templates."""
        self._of_shape, self._kept = of_shape, templates

    def _started(self) -> Drain:
        """Return Drain as it was after the shapes seen so far."""
        if self._drain is None:
            from drain3.drain import Drain  # 170 ms of CPU

            similarity, depth, most_children = self._parameters
            self._drain = Drain(
                depth=depth, sim_th=similarity, max_children=most_children, parametrize_numeric_tokens=False
            )
            for shape, event in self._of_shape.items():
                cluster, _ = self._started().add_log_message(template_text(shape))
                if self._of_cluster.setdefault(cluster.cluster_id, event) == len(self._clusters):
                    self._clusters.append(cluster.cluster_id)
            self._kept = ()
        return self._drain

    def __len__(self) -> int:
        return len(self._kept) or len(self._clusters)

    def of(self, shape: bytes) -> int:
        """Return the event of a message shape."""
        known = self._of_shape.get(shape)
        if known is None:
            cluster, _ = self._started().add_log_message(template_text(shape))
            known = self._of_cluster.get(cluster.cluster_id)
            if known is None:
                known = self._of_cluster[cluster.cluster_id] = len(self._clusters)
                self._clusters.append(cluster.cluster_id)
            self._of_shape[shape] = known
        return known

    def templates(self) -> Sequence[str]:
        """Return the template of each event as it is now."""
        if self._drain is None:
            return self._kept
        clusters = self._drain.id_to_cluster
        return [clusters[c].get_template() for c in self._clusters]


def template_text(shape: bytes) -> str:
    """Return a shape as Drain's input: numbers as `<*>`, at most 100 words."""
    words = shape.decode("utf-8", "replace").split()
    return " ".join(word if word == "<*>" else _masked(word) for word in words[:100])


def _masked(word: str) -> str:
    return word.replace("0x0", "<*>").replace("0", "<*>") if "0" in word else word
