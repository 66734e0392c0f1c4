"""Settings of all tests."""

from hypothesis import settings

# An example that takes longer than 200 ms fails by default: on a busy machine any does.
settings.register_profile("l4tui", deadline=None)
settings.load_profile("l4tui")
