"""The pages for people: short places, merged lines, times without a double zone, nothing wider than a page."""

from __future__ import annotations

from l4tui.engine.report import render_html, render_markdown, render_text
from l4tui.engine.report.pages import numbers, places, root_of, span

REPORT: dict[str, object] = {
    "job": {"sources": ["/logs/job/a/rank-0.log", "/logs/job/b/rank-1.log"], "outcome": "failed", "ranks": [0, 1],
            "world_size": 4, "nodes": {"n0": [0]}, "lines": 12345, "first_time": "2026-03-02T09:00:01.355000Z",
            "last_time": "2026-03-03T00:00:00.000000Z"},
    "verdict": {"summary": "rank 1 " + "died " * 60, "cause": "oom_gpu", "stage": "train", "iteration": 7,
                "scope": "ranks", "confidence": 0.9, "attempt": 0, "actions": ["drain the node " * 12]},
    "suspects": {"ranks": [{"rank": 1, "node": "n0", "score": 0.987, "l4_rank": 2, "l4_degree": 0.5,
                            "sum": "+9 silence", "reasons": [{"kind": "silence", "text": "word " * 50,
                                         "evidence": [["/logs/job/b/rank-1.log", n, n] for n in range(1, 900, 7)]}]}],
                 "nodes": [], "job": []},
    "events": [{"role": "initiating", "count": 3, "ranks": [0, 1, 2, 9], "template": "x" * 500,
                "lines": [["/logs/job/a/rank-0.log", 5, 6], ["/logs/job/a/rank-0.log", 7, 9]]}],
}  # fmt: skip


def test_places_are_relative_merged_and_few() -> None:
    ranges = [["/j/a.log", 10, 12], ["/j/a.log", 13, 13], ["/j/b.log", 7, 7]]
    ranges += [["/j/a.log", n, n] for n in range(20, 99, 3)]
    assert places(ranges, "/j") == "a.log:10-13, 20, 23, 26, 29 (+23 more); b.log:7"
    assert places([["-", 1, 1]], "") == "-:1" and places(None) == ""
    assert root_of(["/j/x/a.log", "/j/y/b.log"]) == "/j" and root_of(["a.log", "/j/b.log"]) == ""


def test_numbers_and_spans_read_as_people_write_them() -> None:
    assert numbers([3, 1, 2, 7]) == "1-3, 7"
    assert numbers(list(range(0, 40, 2)), most=2) == "0, 2 (+18 more)"
    assert span("2026-03-02T09:00:01.355000Z", "2026-03-02T09:02:12.624000Z") == (
        "2026-03-02 09:00:01 – 09:02:12 (0:02:11)"
    )
    assert span(None, None) == "–"


def test_no_line_of_the_text_is_wider_than_a_page() -> None:
    page = render_text(REPORT)
    assert max(map(len, page.splitlines())) <= 100
    assert "b/rank-1.log:1, 8, 15, 22, 29 (+124 more)" in page and "a/rank-0.log:5-9" in page
    assert "/logs/job (2 files)" in page and "2 of 4 ranks" in page


def test_the_other_pages_say_the_same() -> None:
    for page in (render_markdown(REPORT), render_html([REPORT])):
        assert "a/rank-0.log:5-9" in page and "90 %" in page
    assert "http" not in render_html([REPORT]).replace("http-equiv", "")


def test_several_jobs_are_one_document_with_a_list_of_them() -> None:
    page = render_html([REPORT, {**REPORT, "job": {**REPORT["job"], "sources": ["/logs/<other>"]}}])  # type: ignore[dict-item]
    assert page.count("<html") == page.count("</html>") == page.count("<style>") == 1
    assert page.count("<article") == 2
    assert '<a href="#job-1">/logs/&lt;other&gt;</a>' in page and 'id="job-1"' in page
    assert "<ol>" not in render_html([{**REPORT, "suspects": {}}])
