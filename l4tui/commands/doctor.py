"""`l4tui doctor`: what of this terminal and machine matters to l4tui, each with what follows from it."""

from __future__ import annotations

import argparse
import importlib.util
import locale
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import l4tui
from l4tui import config as settings
from l4tui.exits import Exit

EXTRAS = (("duckdb", "export --format parquet (pip install 'l4tui[sql]')"), ("zstandard", "reading .zst logs"))
KNOWN_VARIABLES = frozenset(("L4TUI_CONFIG", "L4TUI_DEBUG"))


class Finding(NamedTuple):
    """One fact: fine or not, what was looked at, what it is and what follows."""

    is_fine: bool
    name: str
    words: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments of its own."""


def run(args: argparse.Namespace, config: settings.Config) -> int:
    """Print every finding; what is not fine has a mark."""
    for finding in findings(os.environ, config):
        print(f"{'ok ' if finding.is_fine else '!! '} {finding.name:<12} {_plain(finding.words)}")
    return Exit.OK


def findings(environ: Mapping[str, str], config: settings.Config) -> Iterator[Finding]:
    """Yield what was found, most telling first."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(True, "l4tui", f"{l4tui.__version__} on Python {python}, {os.cpu_count() or 1} cores")
    yield from _terminal(environ)
    yield from _multiplexer(environ)
    encoding = locale.getencoding()
    words = encoding if _is_utf8(encoding) else f"{encoding}: drawn in ASCII; a UTF-8 LANG shows all signs"
    yield Finding(_is_utf8(encoding), "locale", words)
    yield Finding(True, "config", str(config.file or f"none ({settings.default_file(environ)})"))
    known = {f"L4TUI_{f.name.upper()}" for f in settings.settings()} | KNOWN_VARIABLES
    if strange := sorted(name for name in environ if name.startswith("L4TUI_") and name not in known):
        yield Finding(False, "environment", f"not known: {', '.join(strange)}")
    yield _cache(environ, config)
    yield _descriptors()
    for module, use in EXTRAS:
        has = importlib.util.find_spec(module) is not None
        yield Finding(True, module, f"installed: {use}" if has else f"not installed, needed only for {use}")


def _terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    has_terminal = os.isatty(0) and os.isatty(1)
    term = environ.get("TERM", "")
    size = shutil.get_terminal_size()
    if not has_terminal:
        yield Finding(False, "terminal", "standard input or output is none here: the screen would not open")
    elif term in ("", "dumb"):
        yield Finding(False, "terminal", f"TERM={term!r} cannot show a screen")
    else:
        small = size.columns < 80 or size.lines < 24
        yield Finding(not small, "terminal", f"TERM={term}, {size.columns}x{size.lines}" + " (below 80x24)" * small)
    if "NO_COLOR" in environ:
        yield Finding(True, "colours", "off: NO_COLOR is set")
    else:
        yield Finding(True, "colours", _colours(environ))


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million"
    if "256" in environ.get("TERM", ""):
        return "256 (COLORTERM=truecolor says that the terminal can do more)"
    return "16: the ansi themes suit best"


def _multiplexer(environ: Mapping[str, str]) -> Iterator[Finding]:
    if "TMUX" in environ and shutil.which("tmux"):
        clipboard, passthrough = _tmux("set-clipboard"), _tmux("allow-passthrough")
        is_fine = clipboard in ("on", "external") or passthrough in ("on", "all")
        words = f"set-clipboard {clipboard}, allow-passthrough {passthrough}"
        yield Finding(is_fine, "tmux", words if is_fine else f"{words}: copying needs 'set -g set-clipboard on'")
    elif "STY" in environ:
        yield Finding(False, "screen", "GNU screen passes no clipboard on: what is copied may not reach you")


def _tmux(option: str) -> str:
    try:
        done = subprocess.run(["tmux", "show", "-gv", option], capture_output=True, text=True, timeout=2)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "") == "utf8"


def _cache(environ: Mapping[str, str], config: settings.Config) -> Finding:
    base = Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = config.cache_dir or base / "l4tui"
    if not config.cache:
        return Finding(True, "cache", "switched off")
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        return Finding(False, "cache", f"{folder}: not writable, indexes are not kept (--cache-dir names another)")
    free = shutil.disk_usage(nearest).free
    is_fine = free > config.cache_max
    return Finding(
        is_fine, "cache", f"{folder}, {free / 1e9:.1f} GB free, at most {config.cache_max / 1e9:.1f} GB used"
    )


def _descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    words = f"{soft} open at once, up to {'any number' if hard == resource.RLIM_INFINITY else hard}"
    is_fine = hard == resource.RLIM_INFINITY or hard >= 4096
    return Finding(is_fine, "files", words if is_fine else f"{words}: jobs with more log files are read in turns")


def _plain(words: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in words)
