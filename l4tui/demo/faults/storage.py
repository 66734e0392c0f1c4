"""TMP."""

SCENARIOS = ()
