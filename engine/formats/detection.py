"""From a sample of lines to the dialect of a source: layer by layer, from the outside in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache

from l4tui.engine.formats.candidates import Candidates
from l4tui.engine.formats.dialect import REFUSED, Dialect
from l4tui.engine.formats.hits import WINDOW, Hints, Hits, is_rare
from l4tui.engine.formats.labels import RULES, judge
from l4tui.engine.formats.midline import TEARS, learn_midline
from l4tui.engine.formats.places import head_of, learn_places, writer_of
from l4tui.engine.formats.registry import Format, built_in
from l4tui.engine.formats.tagged import accepted_tags
from l4tui.engine.formats.templates import judge_pair, judge_role, judge_template
from l4tui.engine.model import SourceName

MOST_TEXTS = 1200  # lines that are looked at; the prefixes of a source show in far fewer
FEW_TEXTS = 400  # up to here every line is looked at for every format
READ = 400  # bytes of a line that are looked at
MOST_LAYERS = 3
SRUN_PIECE = 1024  # srun --label cuts a payload there
HEAD, PLACE = "learnt-head", "learnt-place"  # formats whose patterns places.py learns
MARGIN = "viewer-margin"
FEWEST, SAME = 5, 0.98  # lines that have a margin, and their share
SELDOM = frozenset(("torch-rank", "ray-own"))  # tags of few lines by their nature
_HOST_LINE = re.compile(rb"(?:pdsh@[\w.-]+|clush): ([\w.-]+): ")
_TORCH_LINE = re.compile(rb"\[rank\d+\]:(?:\[(?:[EWIF]|titan\])| Traceback \()")

RULES["torchrun-role"] = judge_role
RULES["template"] = RULES["bare-template"] = judge_template
RULES["number-pair"] = judge_pair


@cache
def _prefixes() -> tuple[Candidates, Candidates]:
    """Return the (weak, sure) prefix entries."""
    every = [fmt for fmt in built_in() if fmt.layer == "prefix"]
    weak, sure = ([fmt for fmt in every if fmt.weak == is_weak] for is_weak in (True, False))
    return Candidates(weak, _begins, _may_begin), Candidates(sure, _begins, _may_begin)


def _begins(fmt: Format, text: bytes) -> bool:
    return (fmt.first is None or text[0] in fmt.first) and fmt.regex.match(text) is not None


def _may_begin(fmt: Format, key: bytes) -> bool:
    """Say whether a text may begin so if its key does: the key's 0 is any digit."""
    if fmt.first is None or key[0] in fmt.first:
        return True
    return key[0] == ord("0") and not fmt.first.isdisjoint(b"0123456789")


@lru_cache(8)
def _named(extra: tuple[Format, ...]) -> Mapping[str, Format]:
    return {fmt.name: fmt for fmt in (*built_in(), *extra)}


def detect(lines: Sequence[bytes], name: SourceName | None = None, extra: Sequence[Format] = ()) -> Dialect:
    """Decide by counts and label sets which prefixes a sample of lines really has (no colours; CR may be left in).

    The sample should hold a few hundred to a few thousand lines from the head, the middle and the tail, in runs of
    at least WINDOW neighbours. Doubtful readings are left out: a rank that is not read is unknown, never wrong.
    """
    own = name is not None and (name.rank >= 0 or name.local_rank >= 0)
    search = _Search(lines, own, extra)
    search.take_margin()
    search.take_layers()
    if name is None or name.rank < 0:
        search.take_places()
    return search.dialect(lines)


class _Search:
    """What is known of a sample while layer after layer is taken away."""

    def __init__(self, lines: Sequence[bytes], is_own: bool, extra: Sequence[Format]) -> None:
        self.bare = _shown(lines)  # without their layers
        self.texts: Sequence[bytes] = self.bare  # those that have all layers
        self.at: Sequence[int] = range(len(self.bare))  # their places
        self.extra = extra
        self.known = _named(tuple(extra))
        self.hints = _hints(self.texts, is_own)
        self.layers: list[str] = []
        self.taken: set[str] = set()
        self.rest: dict[str, str] = {}
        self.refused: list[str] = []
        self.seen_tags: dict[str, list[bytes]] = {}

    def take_margin(self) -> None:
        """Take away what nearly all lines begin with: the marks of a quotation, the indent of a block."""
        found = [match[0] for text in self.texts if (match := self.known[MARGIN].regex.match(text)) is not None]
        if len(found) < max(FEWEST, SAME * len(self.texts)):
            return
        low, high = min(found), max(found)  # what they share all share
        common = low[: next((k for k, (a, b) in enumerate(zip(low, high)) if a != b), len(low))]  # noqa: B905
        if common.strip() or len(common) > 1 or common == b"\t":
            self._take([(self.known[MARGIN], re.escape(common.decode("latin-1")))])

    def take_layers(self) -> None:
        """Take prefixes that entries know away, from the outside in."""
        for _ in range(MOST_LAYERS):
            accepted = _accept(self.texts, self.hints, self.taken, self.refused, self.extra)
            if not accepted:
                break
            self._take(accepted)

    def take_places(self) -> None:
        """Learn where many lines tell their writers in forms of their own; one at their start is a prefix."""
        is_placed = any(_names_process(self.known[name]) for name in self._lanes())
        places = learn_places(self.bare, is_placed)
        writer, head = writer_of(places), "" if is_placed else head_of(places)
        if writer:
            self.rest[PLACE] = writer
        if head:
            self.hints = self.hints._replace(is_own=True)
            self._take([(self.known[HEAD], head)])
            self.take_layers()

    def _take(self, accepted: Sequence[tuple[Format, str]]) -> None:
        for fmt, pattern in accepted:
            self.taken.add(fmt.name)
            if fmt.weak:
                self.layers.append(fmt.name)
            if pattern:
                self.rest[fmt.name] = pattern
        formats = _in_turn([fmt.narrowed(p) if p else fmt for fmt, p in accepted])
        kept, self.texts, tags = _strip(self.texts, formats)
        self.at = [self.at[k] for k in kept]
        for place, text in zip(self.at, self.texts, strict=True):
            self.bare[place] = text
        for key, some in tags.items():
            self.seen_tags.setdefault(key, []).extend(some)
        if any(_is_of_one(fmt) for fmt, _ in accepted):
            self.hints = self.hints._replace(is_own=True)

    def _lanes(self) -> list[str]:
        """Return the tags seen without PyTorch's own, which stand on few lines."""
        return [name for name in self.seen_tags if name in self.rest or name not in ("torch-rank", "torch-rank-any")]

    def dialect(self, lines: Sequence[bytes]) -> Dialect:
        """Return what was found, with the tags that may stand in mid-line."""
        rest = self.rest
        lanes = self._lanes()
        used = [self.known[n].narrowed(rest[n]) if n in rest else self.known[n] for n in lanes]
        midline, seen, counting = learn_midline(used, self.seen_tags, lines)
        rest.update(counting)
        refused = sorted(set(self.refused) - self.taken)
        return Dialect(
            prefixes=tuple(self.layers),
            midline=midline,
            seen_ids=seen,
            piece=SRUN_PIECE if self.layers[:1] in (["srun-label"], ["srun-het"]) and TEARS not in counting else 0,
            rest=(*sorted(rest.items()), *accepted_tags(self.texts), *((REFUSED, n) for n in refused)),
        )


def _shown(lines: Sequence[bytes]) -> list[bytes]:
    texts = [line[:READ] for line in _spread(lines) if line]
    if b"\r" not in b"\n".join(texts):
        return texts
    return [text for text in map(_first_state, texts) if text]


def _first_state(line: bytes) -> bytes:
    """Return the first state of a bar that shows anything: the one behind the launcher's prefix."""
    if b"\r" not in line:
        return line
    return next((state for state in line.split(b"\r") if state.strip()), b"")


def _spread(lines: Sequence[bytes]) -> Sequence[bytes]:
    """Return runs of neighbours from all over the sample."""
    runs = MOST_TEXTS // WINDOW
    if len(lines) <= MOST_TEXTS:
        return lines
    starts = [k * (len(lines) - WINDOW) // (runs - 1) for k in range(runs)]
    return [line for start in starts for line in lines[start : start + WINDOW]]


def _hints(texts: Sequence[bytes], is_own: bool) -> Hints:
    joined = b"\n" + b"\n".join(texts)
    named = _HOST_LINE.findall(joined) if b"pdsh@" in joined or b"clush: " in joined else ()
    hosts = frozenset(host.decode("latin-1") for host in named)
    return Hints(
        slurm=b"\nsrun: " in joined or b"slurmstepd" in joined,
        hosts=hosts,
        hydra=any(text in joined for text in (b"mpiexec", b"BAD TERMINATION OF ONE", b"hydra_pmi_proxy")),
        pods=b"\n+ " in joined and " › ".encode() in joined,
        torch_ranks=b"[rank" in joined and _TORCH_LINE.search(joined) is not None,
        is_own=is_own,
    )


def _find(texts: Sequence[bytes], rules: Candidates, only: Collection[str] | None = None) -> dict[str, Hits]:
    out: dict[str, Hits] = {}
    for i, text, formats in rules.among(texts):
        for fmt in formats:
            match = fmt.regex.match(text) if only is None or fmt.name in only else None
            if match is not None:
                hits = out.get(fmt.name)
                if hits is None:
                    hits = out[fmt.name] = Hits([], [], len(texts))
                hits.at.append(i)
                hits.found.append(match)
    return out


def _find_weak(texts: Sequence[bytes], rules: Candidates) -> dict[str, Hits]:
    """Find weak prefixes; of many lines a fifth says which are worth a look at all (6 → 3.5 ms a file)."""
    if len(texts) <= FEW_TEXTS:
        return _find(texts, rules)
    some = [text for k in range(0, len(texts), 5 * WINDOW) for text in texts[k : k + WINDOW]]
    hinted = _find(some, rules).keys()
    return _find(texts, rules, hinted) if hinted else {}


def _accept(
    texts: Sequence[bytes],
    hints: Hints,
    taken: set[str],
    refused: list[str],
    extra: Sequence[Format],
) -> list[tuple[Format, str]]:
    """Return the prefix formats of one layer with their narrowed regexes."""
    weak_rules, sure_rules = _prefixes()
    by_name = _named(tuple(extra))
    sure = _find(texts, sure_rules)
    hints = hints._replace(sure={n: len(h.at) for n, h in sure.items()})
    good: dict[str, tuple[str, Hits]] = {}
    weak = _find_weak(texts, weak_rules)
    own = [fmt for fmt in extra if fmt.layer == "prefix"]
    if own:
        weak.update(_find(texts, Candidates(own, _begins, _may_begin)))
    for name, hits in weak.items():
        pattern = judge(by_name[name], hits, hints) if name not in taken else None
        if pattern is not None:
            good[name] = (pattern, hits)
    _settle(good)
    for name, hits in sure.items():
        if name in taken:
            continue
        if is_rare(hits, hints) and name not in SELDOM:
            refused.append(name)
        else:
            good.setdefault(name, ("", hits))
    return [(by_name[name], pattern) for name, (pattern, _) in good.items()]


def _is_of_one(fmt: Format) -> bool:
    """Say whether a tag stands for one process that is no launcher; srun's tasks are often torchrun."""
    names = {name for name, _ in fmt.fields}
    return "local_rank" in names or ("task" in names and fmt.family == "chunk")


def _names_process(fmt: Format) -> bool:
    return any(field in ("task", "rank", "local_rank") for field, _ in fmt.fields)


def _settle(good: dict[str, tuple[str, Hits]]) -> None:
    """Where two weak readings claim the same lines keep the stricter one, or neither."""
    if "parallel-number" in good:
        good.pop("parallel-name", None)
    if "colon-number" in good:
        good.pop("srun-label", None)
    if "rank-word" in good:
        good.pop("bare-template", None)
    if "bare-template" in good:
        for name in ("compose", "pm2"):
            good.pop(name, None)
    names = list(good)
    drop: set[str] = set()
    for k, a in enumerate(names):
        for b in names[k + 1 :]:
            mine, other = set(good[a][1].at), set(good[b][1].at)
            if len(mine & other) > 0.2 * min(len(mine), len(other)):
                drop |= {a, b}
    for name in drop:
        del good[name]


def _in_turn(formats: Sequence[Format]) -> list[Format]:
    return sorted(formats, key=lambda fmt: (not fmt.weak, fmt.order))


def _strip(
    texts: Sequence[bytes], formats: Sequence[Format]
) -> tuple[list[int], list[bytes], dict[str, list[bytes]]]:
    """Take one layer away; return which texts had it, the rest of them, and each format's tags."""
    kept: list[int] = []
    out: list[bytes] = []
    tags: dict[str, list[bytes]] = {}
    for k, text in enumerate(texts):
        for fmt in formats:
            match = fmt.regex.match(text)
            if match is not None and match.end():
                tags.setdefault(fmt.name, []).append(match[0])
                kept.append(k)
                out.append(text[match.end() :])
                break
    return kept, out, tags
