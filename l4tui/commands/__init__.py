"""Subcommands: a table of names; each module is imported only when its command runs.

A module `l4tui.commands.NAME` offers

    def add_arguments(parser: argparse.ArgumentParser) -> None   # shared groups are in l4tui.options
    def run(args: argparse.Namespace, config: Config) -> int     # an exit code (l4tui.exits.Exit)

and imports nothing heavy at its top: `l4tui NAME --help` and shell completion load it. Unreadable input raises
UsageError; data goes to stdout, words to stderr.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A row of the table: the name typed and what it does in one line."""

    name: str
    words: str


COMMANDS: tuple[Command, ...] = (
    Command("demo", "a simulated training job that fails, live on the screen"),
    Command("export", "every line or record as a row: JSON lines, CSV or Parquet"),
    Command("report", "who is to blame, since when and why: text, JSON, Markdown or HTML"),
    Command("baseline", "healthy jobs kept by name: add, list, remove"),
    Command("library", "what is known of failures: list, add, test, export, import"),
    Command("index", "read everything; print what is in it and what that cost"),
    Command("run", "start a command, tag its lines by rank, keep and show its log"),
    Command("slurm", "open the logs of a Slurm job"),
    Command("formats", "the formats l4tui reads; --explain FILE: which one took which part of a line"),
    Command("keys", "every action with its keys"),
    Command("doctor", "what of this terminal and machine matters to l4tui"),
    Command("config", "print the default config file, or what is in force"),
    Command("completion", "print the completion script of a shell"),
)
