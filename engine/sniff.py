"""What a file is, told from its first bytes and its name: a log, or something that lies beside logs."""

from __future__ import annotations

import json
import re
from enum import StrEnum

HEAD = 4096  # bytes that decide
WHOLE = 1 << 18  # a JSON document is parsed whole up to this size


class Content(StrEnum):
    """Kinds of files; the value is what the list of left-out files says."""

    LOG = "log"
    SCRIPT = "script"
    PROGRAM = "program text"
    JSON = "JSON document"
    SETTINGS = "settings"
    DOCUMENT = "document"
    TABLE = "table"
    MONITOR = "hardware telemetry"
    EVENTS = "TensorBoard events"
    CHECKPOINT = "checkpoint"
    PICKLE = "pickle"
    ARCHIVE = "archive"
    MEDIA = "picture or media"
    UTF16 = "UTF-16 text"
    BINARY = "binary"


SUFFIXES = {
    Content.SCRIPT: ".sh .bash .zsh .csh .ksh .sbatch .bsub .pbs .bat .ps1",
    Content.PROGRAM: ".py .pyi .ipynb .c .cc .cpp .cu .cuh .h .hpp .js .ts .java .go .rs .jl .r .pl .rb .lua .patch",
    Content.SETTINGS: ".yaml .yml .toml .ini .cfg .conf .env .properties .lock .pid .gin .hydra .xml",
    Content.DOCUMENT: ".md .rst .html .htm .css .tex .pdf .bib",
    Content.TABLE: ".csv .tsv",
    Content.CHECKPOINT: ".pt .pth .ckpt .safetensors .distcp .h5 .hdf5 .onnx .gguf .pdparams .pdopt .msgpack .orbax",
    Content.PICKLE: ".pkl .pickle",
    Content.ARCHIVE: ".tar .tgz .zip .7z .whl .rar",
    Content.MEDIA: ".png .jpg .jpeg .gif .svg .webp .mp4 .wav",
    Content.BINARY: ".npy .npz .bin .so .o .a .exe .idx .pyc .parquet .db .sqlite .wandb .nsys-rep .ncu-rep .core",
}
BY_SUFFIX = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
READ_ANYWAY = (
    *(Content.SCRIPT, Content.PROGRAM, Content.SETTINGS, Content.DOCUMENT),
    *(Content.TABLE, Content.MONITOR, Content.JSON),
)
LOG_SUFFIXES = frozenset((".log", ".out", ".err", ".stdout", ".stderr", ".jsonl", ".ndjson"))
NAMES = re.compile(
    r"(?i)^(readme|licen[cs]e|makefile|dockerfile|cmakelists|requirements[\w-]*\.txt|hostfile|hosts|machinefile)\b"
)
MAGIC = (
    (b"PK\x03\x04", Content.ARCHIVE),
    (b"\x7fELF", Content.BINARY),
    (b"\x89HDF", Content.CHECKPOINT),
    (b"\x89PNG", Content.MEDIA),
    (b"\xff\xd8\xff", Content.MEDIA),
    (b"GIF8", Content.MEDIA),
    (b"%PDF", Content.DOCUMENT),
    (b"PAR1", Content.BINARY),
    (b"SQLite format 3\0", Content.BINARY),
    (b"\x93NUMPY", Content.BINARY),
    (b"\xff\xfe", Content.UTF16),
    (b"\xfe\xff", Content.UTF16),
)
PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95|[\]}(\x8a\x8cXc])")
SAFETENSORS = re.compile(rb'.{6}\0\0\{"', re.DOTALL)
SHELL = re.compile(rb"#!|(?:.*\n){0,12}#(?:SBATCH|PBS|BSUB|\$) -")
MONITOR_HEAD = re.compile(
    rb"^\s*(?:#\s*(?:gpu\b|date\b|entity\b|hostname;|type \w|help \w)|NpuID\b|Linux \S+ \([^)]+\)\s+\d|"
    rb"(?=[a-z][\w.]*(?: \[[^\]\n]+\])?,)[^\n]*\b(?:utilization|memory|temperature|power|clocks|ecc|pcie)\.\w)",
    re.MULTILINE | re.IGNORECASE,
)
MONITOR_REACH = 1024  # bytes that hold the head of a table
MONITOR_NOTE = re.compile(
    rb"\s*#|Linux \S+ \(|Average:|\s*(?:ID|NpuID)\b|(?:timestamp|index|name|uuid), ?|\w+\{[^}]*\} |"
    rb"[\d:]{8}(?: [AP]M)?\s+[A-Z%]"
)
MONITOR_GAP = re.compile(rb"[,;\s]+")
MONITOR_WORDS = frozenset(b"- N/A [N/A] [Not Supported] Not Active MiB W MHz % C GPU PM AM".split())
# control characters that no terminal program writes; NUL, BEL, BS, TAB, LF, VT, FF, CR and ESC do occur in logs
ODD = bytes(c for c in range(32) if c not in b"\0\a\b\t\n\v\f\r\x1b")
LOG_KEYS = frozenset(
    ("time", "timestamp", "ts", "asctime", "level", "levelname", "severity", "msg", "message", "event")
)


def split_name(path: str) -> tuple[str, str]:
    """Return a path's last part and its suffix, in lower case; a Path takes ten times as long, and there are many."""
    base = path.rpartition("/")[2].lower()
    dot = base.rfind(".")
    return base, base[dot:] if dot > 0 else ""


def content_of(name: str, head: bytes, size: int) -> Content:
    """Tell a file by its name and first bytes (HEAD of them; up to WHOLE where it may be JSON)."""
    base, suffix = split_name(name)
    by_name = BY_SUFFIX.get(suffix)
    if "events.out.tfevents" in base:
        return Content.EVENTS
    if head:
        kind = _binary(head[:HEAD], by_name)  # what stands further in may be anything a program wrote
        if kind is not None:
            return kind
    if is_monitor(head):
        return Content.MONITOR
    if NAMES.match(base):
        return Content.DOCUMENT if suffix in ("", ".txt") else by_name or Content.DOCUMENT
    if suffix in LOG_SUFFIXES:
        return Content.JSON if _is_document(head, size) else Content.LOG
    if suffix == ".json":
        return Content.LOG if is_json_log(head) else Content.JSON
    if by_name is not None:
        return by_name
    if SHELL.match(head):
        return Content.SCRIPT
    return Content.JSON if _is_document(head, size) else Content.LOG


def _binary(head: bytes, by_name: Content | None) -> Content | None:
    for magic, kind in MAGIC:
        if head.startswith(magic):
            if kind is Content.ARCHIVE and by_name is Content.CHECKPOINT:
                return by_name  # torch.save writes zip files
            return kind
    if PICKLE.match(head):
        return by_name if by_name is Content.CHECKPOINT else Content.PICKLE
    if head[257:262] == b"ustar":
        return Content.ARCHIVE
    if SAFETENSORS.match(head):
        return Content.CHECKPOINT
    if not is_text(head):
        return by_name if by_name is not None and by_name not in READ_ANYWAY else Content.BINARY
    return None


def is_text(head: bytes) -> bool:
    """Text of any encoding without zero bytes in it, perhaps with some NULs and control sequences."""
    head = head.strip(b"\0")  # a file cut under a writer that keeps its position begins with a hole
    nuls = head.count(0)
    odd = len(head) - len(head.translate(None, ODD))
    return nuls * 3 <= len(head) and odd * 20 <= len(head)


def is_monitor(head: bytes) -> bool:
    """A table of nvidia-smi, dcgmi, npu-smi or sar, or a dump of metrics, and little else.

    A log that begins with such a table is none: most of its lines are words.
    """
    if not MONITOR_HEAD.search(head[:MONITOR_REACH]):
        return False
    lines = [line for line in head.split(b"\n")[:-1] or head.split(b"\n") if line.strip()]
    rows = sum(MONITOR_NOTE.match(line) is not None or _is_row(line) for line in lines)
    return len(lines) > 1 and rows * 5 >= len(lines) * 4


def _is_row(line: bytes) -> bool:
    cells = MONITOR_GAP.split(line.strip())
    told = sum(cell in MONITOR_WORDS or any(48 <= c <= 57 for c in cell) for cell in cells)
    return len(cells) > 1 and told * 5 >= len(cells) * 3


def is_json_log(head: bytes) -> bool:
    """One JSON object a line; a single one only with a log's keys in it."""
    lines = [line for line in head.split(b"\n")[:3] if line.strip()]
    if len(lines) > 1 and not head.endswith(b"\n") and head.count(b"\n") < len(lines):
        lines.pop()  # cut by the end of what was read
    found = [_object(line) for line in lines]
    if not found or None in found:
        return False
    if len(found) > 1:
        return True
    keys = set(found[0] or ())
    return bool(keys & {"msg", "message", "event"}) and len(keys & LOG_KEYS) > 1


def _object(line: bytes) -> dict[str, object] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_document(head: bytes, size: int) -> bool:
    """A JSON value over several lines that is the whole file."""
    if head.lstrip()[:1] not in (b"{", b"[") or size > len(head) or b"\n" not in head.strip():
        return False
    try:
        json.loads(head)
    except (ValueError, RecursionError):
        return False
    return True
