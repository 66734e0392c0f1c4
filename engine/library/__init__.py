"""The failure library: what known messages mean, whom they blame and what to do; data, never code."""

from l4tui.engine.library.loading import Library, load, user_directory
from l4tui.engine.library.pattern import Blames, Pattern, PatternError, Role

__all__ = ["Blames", "Library", "Pattern", "PatternError", "Role", "load", "user_directory"]
