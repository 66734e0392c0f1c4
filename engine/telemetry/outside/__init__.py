"""Outside sources: hardware monitors, kernel logs and event files beside a job's logs.

`kinds.py` tells by a file's first lines which program wrote it; each reader turns its text into curves and marks.
"""

from l4tui.engine.telemetry.outside.beside import Shelf, read_outside
from l4tui.engine.telemetry.outside.nearest import Reason, reasons, steps_of

__all__ = ["Reason", "Shelf", "read_outside", "reasons", "steps_of"]
