"""l4tui: explore the logs of distributed training jobs by rank."""
