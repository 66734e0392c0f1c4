"""Every entry's samples match it, its counter-samples do not, and its keys hold."""

import pytest

from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.library import Pattern, load
from l4tui.engine.library.matching import scan
from l4tui.engine.library.pattern import PatternError, parse_pattern, zero_digits

LIBRARY = load()


def first_match(text: str) -> str | None:
    hits = scan(journal_of([Said(text)]), LIBRARY).hits
    return hits[0].pattern.id if hits else None


@pytest.mark.parametrize("pattern", LIBRARY.patterns, ids=lambda p: p.id)
def test_samples_match_their_own_pattern_first(pattern: Pattern) -> None:
    assert pattern.samples, "every entry ships a sample"
    for sample in pattern.samples:
        assert pattern.search(sample), sample
        assert pattern.may_match(zero_digits(sample)), sample
        assert first_match(sample) == pattern.id, sample
    for text in pattern.rejects:
        assert not pattern.search(text), text


def test_ids_are_unique() -> None:
    names = [p.id for p in LIBRARY.patterns]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"pattern": "x"}, "no id"),
        ({"id": "a"}, "'pattern' is missing"),
        ({"id": "a", "pattern": "("}, "a:"),
        ({"id": "a", "pattern": "x", "role": "hero"}, "hero"),
        ({"id": "a", "pattern": "x", "cause": "gremlins"}, "cause"),
        ({"id": "a", "pattern": "x", "colour": 1}, "colour"),
    ],
)
def test_broken_entries_say_why(entry: dict[str, object], word: str) -> None:
    with pytest.raises(PatternError, match=word):
        parse_pattern(entry)


def test_user_library_comes_first(tmp_path) -> None:
    (tmp_path / "library.toml").write_text(
        '[[pattern]]\nid="mine"\npattern="out of memory"\ncause="oom_gpu"\n[[pattern]]\nid="bad"\npattern="("\n'
    )
    library = load(tmp_path)
    hits = scan(journal_of([Said("CUDA out of memory. Tried")]), library).hits
    assert hits[0].pattern.id == "mine" and library.warnings


def test_slow_user_pattern_is_left_out(tmp_path) -> None:
    (tmp_path / "library.toml").write_text('[[pattern]]\nid="mine"\npattern="zzz"\n')
    ticks = iter(range(1000))
    said = [Said(f"line {n}") for n in range(5)]
    assert scan(journal_of(said), load(tmp_path), clock=lambda: float(next(ticks) * 2)).slow == ("mine",)
