"""Run l4tui as `python -m l4tui`."""

import sys

from l4tui.cli import main

sys.exit(main())
