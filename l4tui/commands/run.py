"""`l4tui run -- CMD…`: start a job, tag its lines by rank, keep its log, and show it.

The command's output goes straight into the log file, opened for appending: no process of ours stands between, and
lines of many ranks are not torn. Ranks are tagged through PYTHONPATH: a `sitecustomize` there has each Python process
that a launcher gave a rank tag its own descriptors (l4tui.tag.adopt), so it works under any launcher, keeps process
ids, signals and exit codes as they are, and needs neither l4tui nor anything else in the job's environment.
Programs that are not Python: `mpirun … python -m l4tui.tag --exec ./program`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from l4tui import options
from l4tui.config import Config
from l4tui.exits import UsageError
from l4tui.signals import temporary_folder

TAKES_COMMAND = True  # what stands behind -- is args.rest
POLL = 0.05  # seconds between two looks at the log in --plain
FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
_SITE = """\
import sys

def _tag():
    import os
    here, package = {here!r}, {package!r}
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    try:
        import l4tui.tag
    except ImportError:
        import types
        stub = types.ModuleType("l4tui")
        stub.__path__ = [package]
        sys.modules["l4tui"] = stub
        import l4tui.tag
    sys.modules["l4tui.tag"].adopt()

try:
    _tag()
except Exception as error:
    sys.stderr.write("l4tui run: lines of this process are not tagged: %r\\n" % (error,))
del _tag
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
_spec = PathFinder.find_spec("sitecustomize")
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(module_from_spec(_spec))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = "l4tui run [OPTION]… -- CMD [ARGUMENT]…"
    parser.add_argument("--plain", action="store_true", help="print the output instead of opening the screen")
    parser.add_argument("--log", metavar="FILE", help="keep the log there (default: $XDG_STATE_HOME/l4tui/runs)")
    parser.add_argument("--no-tag", dest="tag", action="store_false", help="leave the lines as they are")
    options.add_reading(parser)
    options.add_screen(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Run the command to its end and return its exit code (128 + signal where one ended it)."""
    if not args.rest:
        raise UsageError("run: name the command to run, as in l4tui run -- torchrun train.py")
    if shutil.which(args.rest[0]) is None:
        raise UsageError(f"run: {args.rest[0]}: no such command")
    plain = args.plain or not (sys.stdout.isatty() and sys.stdin.isatty())
    path = Path(args.log) if args.log else _log_path(args.rest[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    with _environment(args.tag) as environ, path.open("ab") as log, _forwarding() as own:
        begin = log.tell()
        child = subprocess.Popen(
            args.rest, stdout=log, stderr=log, stdin=None if plain else subprocess.DEVNULL, env=environ
        )
        own(child)
        if not plain:
            _show(path, config, child)
        code = _wait(child, path, begin if plain else None)
    print(f"l4tui: the log is {shlex.quote(str(path))}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _log_path(command: str) -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "l4tui" / "runs"
    return base / f"{Path(command).name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


@contextmanager
def _environment(tag: bool) -> Iterator[Mapping[str, str]]:
    """Yield the command's environment; its folder of `sitecustomize` lives as long as the command."""
    environ = dict(os.environ)
    if not tag:
        yield environ
        return
    with temporary_folder("l4tui-run-") as here:
        package = str(Path(__file__).parent.parent)
        Path(here, "sitecustomize.py").write_text(_SITE.format(here=here, package=package), "utf-8")
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, environ.get("PYTHONPATH"))))
        environ.setdefault("PYTHONUNBUFFERED", "1")
        environ.pop("L4TUI_TAGGED", None)
        yield environ


@contextmanager
def _forwarding() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Hand signals on to the command that is named with what is yielded; Ctrl+C reaches it from the terminal."""
    commands: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # came while the command was being started

    def forward(number: int, frame: FrameType | None) -> None:
        if not commands:
            early.append(number)
        for command in commands:
            if command.poll() is None:
                command.send_signal(number)

    def own(command: subprocess.Popen[bytes]) -> None:
        commands.append(command)
        for number in early:
            command.send_signal(number)

    numbers = [getattr(signal, name) for name in FORWARDED]
    before = {number: signal.signal(number, forward) for number in numbers}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield own
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(path: Path, config: Config, child: subprocess.Popen[bytes]) -> None:
    """Open the screen on the log; when it is closed while the command runs, say so."""
    from l4tui.screen import open_screen  # loads Textual: 400 ms CPU

    open_screen([str(path)], config)
    if child.poll() is None:
        print("l4tui: the command is still running; Ctrl+C interrupts it", file=sys.stderr)


def _wait(child: subprocess.Popen[bytes], path: Path, begin: int | None) -> int:
    """Wait for the command's end, printing from `begin` on what it writes (None: nothing)."""
    ended = threading.Event()
    copier = None
    if begin is not None:
        copier = threading.Thread(target=_copy, args=(path, begin, ended), name="l4tui-run", daemon=True)
        copier.start()
    code = child.wait()
    ended.set()
    if copier:
        copier.join()
    return code


def _copy(path: Path, begin: int, ended: threading.Event) -> None:
    """Write what is appended to a file to standard output until the writers have ended."""
    out = sys.stdout.buffer
    with path.open("rb") as log:
        log.seek(begin)
        quiet = 0
        while quiet < 4:  # taggers write the last lines shortly after the command's own end
            is_over = ended.is_set()
            if block := log.read(1 << 20):
                try:
                    out.write(block)
                    out.flush()
                except BrokenPipeError:
                    return
                quiet = 0
                continue
            quiet += is_over
            ended.wait(POLL) if not is_over else threading.Event().wait(POLL)
