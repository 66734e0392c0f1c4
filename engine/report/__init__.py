"""The report: one dictionary by the contract, and pages made from it."""

from l4tui.engine.report.build import SCHEMA, build_report
from l4tui.engine.report.html import render_html
from l4tui.engine.report.markdown import render_markdown
from l4tui.engine.report.text import render_text

__all__ = ["SCHEMA", "build_report", "render_html", "render_markdown", "render_text"]
