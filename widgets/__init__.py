"""Textual widgets; they know snapshots and messages, no files, no processes."""
