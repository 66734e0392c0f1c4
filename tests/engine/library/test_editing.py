"""A person's library: entries are tested before they are kept, and come back as they were."""

import pytest

from l4tui.engine.library import load
from l4tui.engine.library.editing import add, check, dump, import_file
from l4tui.engine.library.loading import read_patterns
from l4tui.engine.library.pattern import Pattern, PatternError, parse_pattern


def own(**fields: object) -> Pattern:
    entry = {"id": "site.fan", "pattern": r"fan (?P<n>\d+) failed", "samples": ["fan 3 failed"], "cause": "gpu"}
    return parse_pattern(entry | fields, user=True)


def test_added_entry_is_loaded_first(tmp_path) -> None:
    add(own(actions=['say "call" it\n'], meaning="a fan\tfailed"), tmp_path)
    first = load(tmp_path).patterns[0]
    assert (first.id, first.user, first.meaning, first.actions) == (
        "site.fan",
        True,
        "a fan\tfailed",
        ('say "call" it\n',),
    )


def test_entry_that_misses_its_sample_is_refused(tmp_path) -> None:
    with pytest.raises(PatternError, match="sample"):
        add(own(samples=["pump failed"]), tmp_path)
    assert not (tmp_path / "library.toml").exists()


def test_pattern_without_end_is_refused() -> None:
    assert check(own(pattern=r"(a+)+b$", samples=[])).problems == ("takes too long",)


def test_export_reads_back(tmp_path) -> None:
    shipped = load(tmp_path).patterns
    again = {p.id: p for p in read_patterns(dump(shipped)) if isinstance(p, Pattern)}
    for p in shipped:
        q = again[p.id]
        assert (q.regex.pattern, q.keys, q.role, q.blames, q.strong, q.hardware, q.order, q.rejects) == (
            p.regex.pattern,
            p.keys,
            p.role,
            p.blames,
            p.strong,
            p.hardware,
            p.order,
            p.rejects,
        )


def test_import_takes_all_or_none(tmp_path) -> None:
    source = tmp_path / "theirs.toml"
    source.write_text('[[pattern]]\nid="a"\npattern="x"\n[[pattern]]\nid="b"\npattern="("\n')
    with pytest.raises(PatternError):
        import_file(source, tmp_path)
    source.write_text('[[pattern]]\nid="a"\npattern="x"\n')
    assert import_file(source, tmp_path) == ["a"]
