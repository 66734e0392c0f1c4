"""One machine, several spellings: the job's name for it, its short name, and what sets it apart from its neighbours."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

_HEAD = re.compile(r".*[-_.]")


def spellings(nodes: Sequence[str]) -> dict[str, str]:
    """Return the job's nodes by every spelling that means one of them alone; their own names first."""
    found: dict[str, set[str]] = {}
    same = os.path.commonprefix(list(nodes)) if len(nodes) > 1 else ""  # noqa: RUF071 - of characters
    head = _HEAD.match(same)
    for node in nodes:
        rest = node[head.end() :] if head else node  # train-node00, train-node01: files that were named after them
        for name in (node, node.partition(".")[0], rest, rest.partition(".")[0]):
            if any(c.isalpha() for c in name):
                found.setdefault(name, set()).add(node)
    return {name: next(iter(same)) for name, same in found.items() if len(same) == 1}


def node_named(name: str | None, nodes: Sequence[str]) -> str | None:
    """Return the job's node that a host name means; the name itself where it is none of them."""
    if name is None:
        return None
    known = spellings(nodes)
    return known.get(name) or known.get(name.partition(".")[0]) or name


def node_in(path: str, nodes: Sequence[str]) -> str | None:
    """Return the node whose name stands in a path, the longest first; the only one there is."""
    known = spellings(nodes)
    for name in sorted(known, key=len, reverse=True):
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", path):
            return known[name]
    return nodes[0] if len(nodes) == 1 else None
