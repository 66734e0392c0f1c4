"""The questions that divergence asks of an attempt."""
