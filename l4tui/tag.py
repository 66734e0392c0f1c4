"""Put rank, local rank, node and iteration on every line a training process writes.

    import l4tui.tag
    l4tui.tag.install()             # two lines in the script, or none: python -m l4tui.tag train.py …
    l4tui.tag.iteration(step)       # optional: the step that lines from here on belong to
    l4tui.tag.log(loss=2.31)        # typed telemetry

Standard library only; importing it changes nothing. `install` does three things, from the inside out: records of
`logging` carry the tag in their message (a record factory: filters on the root logger miss propagated records); text
written through sys.stdout and sys.stderr gets it at the start of each line; and what goes to the descriptors past
Python (C++ libraries, child processes) is passed through a small process that tags lines which have none.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import NamedTuple, TextIO, cast

MARK = "[l4 rank="
TAGGED = "L4TUI_TAGGED"  # environment: the rank whose tagger the descriptors lead to
PIPE_BUF = 4096  # bytes that a pipe takes in one piece, whoever else writes
LATEST = 2.0  # seconds after which the last state of a bar is written as a line
MOST = 1 << 16  # bytes of an unfinished line that are held

# launcher: (rank, local rank, world size); the innermost launcher first
_VARIABLES = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"),
    ("PADDLE_TRAINER_ID", "PADDLE_LOCAL_RANK", "PADDLE_TRAINERS_NUM"),
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
    ("PMIX_RANK", "", ""),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
)
_AGENTS = ("torchrun", "torch.distributed", "accelerate", "deepspeed", "horovodrun", "mpirun", "paddle.distributed")


class Who(NamedTuple):
    """This process among those of the job; −1 unknown."""

    rank: int
    local_rank: int
    node: str
    world_size: int


_iteration: ContextVar[int | None] = ContextVar("l4tui_iteration", default=None)
_tags: ContextVar[str] = ContextVar("l4tui_tags", default="")


class _State:
    """What install has set up in this process."""

    who: Who | None = None
    latest: int | None = None  # iteration of threads that were never told one: their context starts empty
    head = ""  # the tag up to what changes
    fields: dict[str, object] = {}  # noqa: RUF012 -- one per process, set by install
    made: tuple[str, int | None, str] = ("", None, "")  # the last tag, its iteration and further tags


def whoami(environ: os._Environ[str] | dict[str, str] = os.environ) -> Who | None:
    """Read from the launcher's variables who this process is; None where no launcher says it."""
    for rank, local, world in _VARIABLES:
        if environ.get(rank, "").isdigit():
            node = environ.get("SLURMD_NODENAME") or os.uname().nodename
            return Who(int(environ[rank]), _number(environ.get(local)), node.split(".")[0], _number(environ.get(world)))
    return None


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else -1


def install(
    rank: int | None = None, local_rank: int = -1, node: str = "", *, streams: bool = True, descriptors: bool = True
) -> bool:
    """Tag everything this process writes from here on; say whether its rank is known, by argument or launcher.

    streams: also text written through sys.stdout and sys.stderr. descriptors: also what goes past them.
    """
    who = whoami()
    if rank is not None:
        said = who or Who(-1, -1, os.uname().nodename.split(".")[0], -1)
        local = local_rank if local_rank >= 0 else said.local_rank
        who = Who(rank, local, node or said.node, said.world_size)
    if who is None:
        return False
    is_first, _State.who = _State.who is None, who
    local_part = f" local={who.local_rank}" if who.local_rank >= 0 else ""
    _State.head = f"{MARK}{who.rank}{local_part} node={who.node or 'unknown'}"
    _State.made = ("", None, "")
    _State.fields = {"l4_rank": who.rank, "l4_local_rank": who.local_rank, "l4_node": who.node}
    if is_first:
        logging.setLogRecordFactory(_factory(logging.getLogRecordFactory()))
        if descriptors and os.environ.get(TAGGED) != str(who.rank):
            _tag_descriptors()
        os.environ[TAGGED] = str(who.rank)  # children inherit tagged descriptors
        if streams:
            sys.stdout = cast(TextIO, _Stream(sys.stdout))
            sys.stderr = cast(TextIO, _Stream(sys.stderr))
    return True


def iteration(number: int | None) -> None:
    """Say which training step the lines from here on belong to."""
    _iteration.set(number)
    _State.latest = number


@contextlib.contextmanager
def tags(**pairs: object) -> Iterator[None]:
    """Add key=value to the tag of all lines written inside."""
    token = _tags.set(_tags.get() + "".join(f" {_key(key)}={_key(str(value))}" for key, value in pairs.items()))
    try:
        yield
    finally:
        _tags.reset(token)


def log(**values: object) -> None:
    """Write one line of telemetry: numbers, words and truths by name."""
    cells = " ".join(f"{_key(name)}={_cell(value)}" for name, value in values.items())
    sys.stdout.write(f"{prefix()}telemetry {cells}\n")
    sys.stdout.flush()


def prefix() -> str:
    """Return the tag as it stands before a line now, its blank included; "" before install."""
    return _now()[0]


def _now() -> tuple[str, int | None, str]:
    """Return the tag and what it was made of: iteration and further tags; made once for all lines that share them."""
    number = _iteration.get()
    if number is None:
        number = _State.latest
    extra, made = _tags.get(), _State.made
    if number is made[1] and extra is made[2] and made[0]:  # what is equal and not the same costs another making
        return made
    if _State.head:
        told = "" if number is None else f" iter={number}"
        _State.made = made = (f"{_State.head}{told}{extra}] ", number, extra)  # one assignment: threads write too
    return made


def _key(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_./-" else "_" for c in text) or "_"


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, int):
        return str(value)
    try:
        return repr(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        text = str(value).replace("\n", " ")
        return text if text and all(c.isalnum() or c in "_.:/-" for c in text) else '"' + text.replace('"', "'") + '"'


_classes: dict[type[logging.LogRecord], type[logging.LogRecord]] = {}


def _factory(previous: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    """Wrap a record factory: the record's message begins with the tag, and the record carries its parts."""

    def make(*args: object, **kwargs: object) -> logging.LogRecord:
        record = previous(*args, **kwargs)
        kind = record.__class__
        record.__class__ = _classes.get(kind) or _tagged(kind)
        fields = record.__dict__
        # names that no `extra={"rank": …}` of a program can clash with: logging refuses to overwrite
        fields["l4_tag"], fields["l4_iteration"], _ = _now()
        fields.update(_State.fields)
        return record

    return make


def _tagged(kind: type[logging.LogRecord]) -> type[logging.LogRecord]:
    """Return a subclass of a record's class whose message begins with the tag, on each of its lines."""
    message = kind.getMessage

    class Tagged(kind):  # type: ignore[misc, valid-type]
        def getMessage(self) -> str:
            text = message(self)
            tag: str = self.l4_tag
            return tag + (text.replace("\n", "\n" + tag) if "\n" in text else text)

    Tagged.__name__ = kind.__name__
    _classes[kind] = Tagged
    return Tagged


def _in_front(line: str, tag: str) -> str:
    """Move the tag that a record's message began with to the front of its line, before time and level."""
    at = line.find(MARK)
    if at == 0:
        return line
    end = line.find("] ", at) + 2
    return line[at:end] + line[:at] + line[end:] if at > 0 and end > 1 else tag + line


class _Stream:
    """A text stream that writes whole lines, the tag before each; parts of a line wait for its end or a flush."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._put, self._flush = stream, stream.write, stream.flush
        self._held = ""  # of a line that has not ended
        self._inside = False  # the beginning of a line has been written
        self._renew()
        os.register_at_fork(after_in_child=self._renew)  # a worker forked while a thread wrote must not wait for ever
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(line_buffering=True)  # type: ignore[attr-defined]  # lines go out as they end

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Write text, tagging the lines that begin in it."""
        tag = _State.made[0]
        if tag and not self._held and not self._inside and text.find("\n") == len(text) - 1:
            head, found, rest = text.partition(tag)
            if found:  # what logging writes
                self._put(f"{tag}{head}{rest}" if head else text)
                return len(text)
        with self._lock:
            *lines, self._held = (self._held + text).split("\n")
            if lines:
                self._put("".join([self._begun(line) + "\n" for line in lines]))
            if "\r" in self._held or len(self._held) > PIPE_BUF:
                self._spill()
        return len(text)

    def _begun(self, line: str) -> str:
        """Return a line with its tag, or as it is where its beginning has been written."""
        if self._inside:
            self._inside = False
            return line
        return _in_front(line, prefix()) if MARK in line else prefix() + line

    def _spill(self) -> None:
        self._put(self._begun(self._held))
        self._held, self._inside = "", True

    def flush(self) -> None:
        """Write what waits."""
        if self._held:
            with self._lock:
                self._spill()
        self._flush()

    def writelines(self, lines: Sequence[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _is_screen(fd: int) -> bool:
    """Tell a person's terminal from one that a launcher reads: Open MPI gives its ranks terminals as pipes."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/stat") as stat:  # noqa: PTH123
        return os.isatty(fd) and int(stat.read().rpartition(")")[2].split()[4]) == os.fstat(fd).st_rdev
    return os.isatty(fd)


def _tag_descriptors() -> None:
    """Pass descriptors 1 and 2, but a person's terminal, through a process that tags lines without a tag."""
    import subprocess

    piped = [fd for fd in (1, 2) if os.path.exists(f"/dev/fd/{fd}") and not _is_screen(fd)]  # noqa: PTH110
    if not piped:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    ends = {fd: os.pipe() for fd in piped}
    kept = {fd: os.dup(fd) for fd in piped}
    pairs = [f"{ends[fd][0]}:{kept[fd]}" for fd in piped]
    fds = [*kept.values(), *(ends[fd][0] for fd in piped)]
    command = [sys.executable, "-I", "-S", os.path.abspath(__file__), "--pump", f"{_State.head}] ", *pairs]  # noqa: PTH100
    try:
        # it forks once more and its first process ends, so that the program never waits for a child it does not know
        subprocess.run(command, pass_fds=fds, stdin=subprocess.DEVNULL, check=True, close_fds=True)
        for fd in piped:
            os.dup2(ends[fd][1], fd)
    except (OSError, subprocess.SubprocessError):
        return
    finally:
        for fd in (*kept.values(), *(end for pair in ends.values() for end in pair)):
            os.close(fd)


def _pump(tag: bytes, pairs: Sequence[str]) -> None:
    """Copy lines from descriptors to others, tagging those without a tag, until all of them end."""
    import selectors
    import signal
    import time

    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its writers have, and with all they wrote
    selector = selectors.DefaultSelector()
    held: dict[int, bytes] = {}
    told: dict[int, float] = {}
    targets = {int(source): int(target) for source, _, target in (pair.partition(":") for pair in pairs)}
    for source in targets:
        selector.register(source, selectors.EVENT_READ)
    while targets:
        ready = {key.fd for key, _ in selector.select(LATEST if any(held.values()) else None)}
        for fd in list(targets):
            data = os.read(fd, 1 << 16) if fd in ready else b""
            if fd in ready and not data:
                _write(targets[fd], tag, [line for line in (held.pop(fd, b""),) if line])
                selector.unregister(fd)
                del targets[fd]
                continue
            *lines, rest = (held.get(fd, b"") + data).split(b"\n")
            if rest and (len(rest) > MOST or (b"\r" in rest and time.monotonic() - told.get(fd, 0) > LATEST)):
                state, rest = (rest, b"") if b"\r" not in rest else rest.rsplit(b"\r", 1)
                lines.append(state)
                told[fd] = time.monotonic()
            held[fd] = rest
            _write(targets[fd], tag, lines)


def _write(fd: int, tag: bytes, lines: Sequence[bytes]) -> None:
    """Write lines, as many at a time as a pipe takes in one piece."""
    mark = MARK.encode()
    out = b""
    for line in [*(line if line.startswith(mark) else _fronted(line, tag, mark) for line in lines), None]:
        if out and (line is None or len(out) + len(line) >= PIPE_BUF):
            try:
                while out:
                    out = out[os.write(fd, out) :]
            except OSError:
                os._exit(0)  # nobody reads: the writer learns it by its own next write
        if line is not None:
            out += line + b"\n"


def _fronted(line: bytes, tag: bytes, mark: bytes) -> bytes:
    """Put a tag before a line: the one it holds already, else ours."""
    if mark not in line:
        return tag + line
    return _in_front(line.decode("utf-8", "surrogateescape"), tag.decode()).encode("utf-8", "surrogateescape")


def adopt() -> None:
    """Tag this process if a launcher says its rank and no parent has done it: what `l4tui run` has each Python call."""
    if any(agent in word for word in sys.orig_argv[:4] for agent in _AGENTS):
        return
    if (who := whoami()) is not None and os.environ.get(TAGGED) != str(who.rank):
        install()


USAGE = "usage: python -m l4tui.tag [--no-descriptors] SCRIPT|-m MODULE|--exec COMMAND [ARGUMENT…]"


def main(argv: Sequence[str]) -> None:
    """Run a script, module or program with its lines tagged."""
    words = list(argv)
    if words[:1] == ["--pump"]:
        _pump(words[1].encode(), words[2:])
        return
    descriptors = words[:1] != ["--no-descriptors"]
    words = words if descriptors else words[1:]
    if not words:
        raise SystemExit(USAGE)
    from l4tui import tag as real  # this module runs as __main__: the program imports another copy

    real.install(descriptors=descriptors, streams=words[0] != "--exec")
    import runpy

    if words[0] == "--exec" and len(words) > 1:
        os.execvp(words[1], words[1:])
    elif words[0] == "-m" and len(words) > 1:
        sys.argv = words[1:]
        sys.path.insert(0, "")
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif not words[0].startswith("-"):
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))  # noqa: PTH100, PTH120
        runpy.run_path(words[0], run_name="__main__")
    else:
        raise SystemExit(USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
