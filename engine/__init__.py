"""The pipeline from bytes to facts; no screens, usable from a notebook."""
