"""l4tui: explore the logs of distributed training jobs by rank."""

__version__ = "0.1.0"
