"""Settings: commented defaults, then the config file, the environment and flags, resolved into one frozen Config."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from l4tui.exits import UsageError

_SIZE = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE | re.ASCII)


def text(value: object) -> str:
    """Accept a string."""
    if not isinstance(value, str):
        raise ValueError("expects a string")
    return value


def whole(value: object) -> int:
    """Accept a whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).isdecimal():
        raise ValueError("expects a whole number")
    return int(value)


def truth(value: object) -> bool:
    """Accept true or false, in the environment also 1/0, yes/no, on/off."""
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if not isinstance(value, str) or value.lower() not in words:
        raise ValueError("expects true or false")
    return words[value.lower()]


def size(value: object) -> int:
    """Accept bytes as a number or with a unit, decimal or binary: 4096, "512MB", "2 GiB"."""
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found:
        base = 1024 if found[3] else 1000
        return int(float(found[1]) * base ** " KMGT".index(found[2].upper() or " "))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError('expects a size such as "512MB"')
    return value


def path(value: object) -> Path | None:
    """Accept a path; empty means none."""
    return Path(text(value)).expanduser() if value else None


def lens(value: object) -> str:
    """Accept the name of a lens, or auto."""
    if value not in ("auto", "collapsed", "lines"):
        raise ValueError("expects auto, collapsed or lines")
    return str(value)


def _setting(section: str, read: Callable[[object], object], default: Any, words: str, example: str) -> Any:
    return field(default=default, metadata={"section": section, "read": read, "words": words, "example": example})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything a person can set, resolved; fields with a section can stand in the config file."""

    theme: str = _setting("screen", text, "auto", "A theme of the palette; auto follows the terminal.", '"auto"')
    ascii: bool = _setting("screen", truth, False, "Draw with ASCII characters alone; unset: as the locale is.", "true")
    lens: str = _setting("screen", lens, "auto", "The first lens: collapsed, lines; auto asks the log.", '"auto"')
    mouse: bool = _setting("screen", truth, False, "Take the mouse (F2 switches it).", "false")
    follow: bool = _setting("screen", truth, True, "Read on while the files grow.", "true")

    tz: str = _setting("read", text, "", "Zone of times that name none: UTC, +02:00, Europe/Berlin.", '"UTC"')
    ranks_per_node: int = _setting("read", whole, 0, "Ranks on each node where the text cannot tell; 0: unknown.", "8")
    world_size: int = _setting("read", whole, 0, "Ranks of the job where the text cannot tell; 0: unknown.", "64")
    map: Path | None = _setting("read", path, None, 'A file of lines such as "n12 96-103".', '"nodes.txt"')
    jobs: int = _setting("read", whole, 0, "Processes that index; 0: one a core.", "0")
    dask: str = _setting("read", text, "", "A Dask scheduler whose workers index instead.", '"tcp://host:8786"')
    max_mem: int = _setting("read", size, 0, "Memory of the index before it goes to a file; 0: a default.", '"4GB"')

    cache: bool = _setting("cache", truth, True, "Keep finished indexes for the next time.", "true")
    cache_dir: Path | None = _setting("cache", path, None, "Where; by default the XDG cache folder.", '"/tmp/l4tui"')
    cache_max: int = _setting("cache", size, 2 * 10**9, "Size at which the oldest indexes are dropped.", '"2GB"')

    ranks: str = ""  # flags only from here on: they belong to one call
    since: str = ""
    until: str = ""
    keys: Mapping[str, object] = field(default_factory=dict)  # [keys], checked against the action table by the screen
    formats: tuple[Mapping[str, object], ...] = ()  # [[format]], checked by the engine's format loader
    series: tuple[Mapping[str, object], ...] = ()  # [[series]], checked by the engine's telemetry rules
    file: Path | None = None  # the config file that was read


def settings() -> Iterator[Field[Any]]:
    """Yield the fields that the config file and the environment may set, in file order."""
    return (f for f in fields(Config) if "section" in f.metadata)


def default_file(environ: Mapping[str, str]) -> Path:
    """Say where the config file stands unless told otherwise."""
    if environ.get("L4TUI_CONFIG"):
        return Path(environ["L4TUI_CONFIG"]).expanduser()
    base = environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "l4tui" / "config.toml"


def default_text() -> str:
    """Write the commented default config file."""
    lines = [
        "# l4tui reads this file from $XDG_CONFIG_HOME/l4tui/config.toml.",
        "# Each setting can also be given in the environment (L4TUI_THEME=…) and most as a flag (--theme …).",
    ]
    section = ""
    for f in settings():
        if f.metadata["section"] != section:
            section = f.metadata["section"]
            lines += ["", f"[{section}]"]
        lines += [f"# {f.metadata['words']}", f"# {f.name} = {f.metadata['example']}"]
    lines += [
        "",
        "# Keys by action, as `l4tui keys` lists them.",
        "[keys]",
        '# search = "/,ctrl+f"',
        "",
        "# Formats of your own: a regex with named groups and samples that are checked when it is loaded.",
        "# [[format]]",
        '# name = "our-launcher"',
        '# layer = "prefix"',
        "# pattern = '''<(?P<node>n\\d+)/(?P<local_rank>\\d+)> '''",
        '# samples = [{line = "<n7/3> hello", fields = {node = "n7", local_rank = "3"}, text = "hello"}]',
        "",
        "# Series of your own, where a number has no name in the text: a regex with named groups.",
        "# [[series]]",
        "# pattern = '''card (?P<card>\\d+) ~ (?P<fan>[\\d.]+)'''",
        '# name = "card {card} {value}"',
        '# units = {fan = "%"}',
        '# samples = [{line = "card 3 ~ 41.5", values = {"card 3 fan" = "41.5"}}]',
    ]
    return "\n".join(lines) + "\n"


def load(flags: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> Config:
    """Resolve defaults, file, environment and flags (those that are not None); raise UsageError for what is wrong."""
    named = flags.get("config")
    file = Path(str(named)) if named else default_file(environ)
    values: dict[str, object] = {}
    if file.is_file():
        values = _from_file(file) | {"file": file}
    elif named or environ.get("L4TUI_CONFIG"):
        raise UsageError(f"{file}: no such config file")
    for f in settings():
        name = f"L4TUI_{f.name.upper()}"
        if name in environ:
            values[f.name] = _read(f, environ[name], name)
    for f in fields(Config):
        given = flags.get(f.name)
        if given is None:
            continue
        if f.name == "keys" and isinstance(given, list):
            values["keys"] = dict(_as_table(values.get("keys"))) | dict(_binding(item) for item in given)
        else:
            values[f.name] = _read(f, given, f"--{f.name.replace('_', '-')}") if "read" in f.metadata else given
    return replace(Config(ascii=is_ascii(environ)), **values)  # type: ignore[arg-type]


def is_ascii(environ: Mapping[str, str]) -> bool:
    """Tell a terminal of ASCII alone: the locale is not in UTF-8, or it is the console, whose font lacks signs."""
    charset = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "UTF-8"
    return "utf8" not in charset.lower().replace("-", "") or environ.get("TERM") == "linux"


def _as_table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _binding(item: object) -> tuple[str, str]:
    action, equals, keys = str(item).partition("=")
    if not equals or not action or not keys:
        raise UsageError(f"--keys {item}: expects ACTION=KEY, as in search=ctrl+f")
    return action, keys


def _read(f: Field[Any], value: object, where: str) -> object:
    if f.type == "bool" and isinstance(value, bool):
        return value
    try:
        return f.metadata["read"](str(value) if isinstance(value, Path) else value)
    except ValueError as error:
        raise UsageError(f"{where}: {error}, not {value!r}") from None


def _from_file(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            tables = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    known: dict[str, dict[str, Field[Any]]] = {}
    for f in settings():
        known.setdefault(f.metadata["section"], {})[f.name] = f
    values: dict[str, object] = {}
    for section, table in tables.items():
        if section == "keys":
            values["keys"] = _table(file, section, table)
        elif section == "format":
            if not isinstance(table, list) or not all(isinstance(entry, dict) for entry in table):
                raise UsageError(f"{file}: formats are written as [[format]] tables")
            values["formats"] = tuple(table)
        elif section == "series":
            if not isinstance(table, list) or not all(isinstance(entry, dict) for entry in table):
                raise UsageError(f"{file}: rules for series are written as [[series]] tables")
            values["series"] = tuple(table)
        elif section not in known:
            hint = _hint(section, [*known, "keys", "format", "series"])
            raise UsageError(f"{file}: unknown section [{section}]{hint}")
        else:
            values |= _section(file, section, _table(file, section, table), known[section])
    return values


def _table(file: Path, section: str, table: object) -> Mapping[str, object]:
    if not isinstance(table, dict):
        raise UsageError(f"{file}: {section!r} is a table: write [{section}]")
    return table


def _section(
    file: Path, section: str, table: Mapping[str, object], known: Mapping[str, Field[Any]]
) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in table.items():
        if key not in known:
            raise UsageError(f"{file}: unknown key {key!r} in [{section}]{_hint(key, known)}")
        values[key] = _read(known[key], value, f"{file}: {key}")
    return values


def _hint(word: str, known: Any) -> str:
    import difflib  # used only for an error's words

    near = difflib.get_close_matches(word, list(known), n=1)
    return f": did you mean {near[0]!r}?" if near else f" (known: {', '.join(known)})"
