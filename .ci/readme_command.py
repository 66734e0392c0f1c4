"""Print the one command of a README's section: `readme_command.py README.md Test`."""

import re
import sys
from pathlib import Path


def command(text: str, section: str) -> str:
    """Return the only line of the first fenced block under a heading."""
    found = re.search(rf"^#+ {re.escape(section)}$(.*?)^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = found[2].splitlines() if found and "\n#" not in found[1] else []
    if len(lines) != 1:
        sys.exit(f"no single command under the heading {section!r}")
    return lines[0]


if __name__ == "__main__":
    print(command(Path(sys.argv[1]).read_text(), sys.argv[2]))
