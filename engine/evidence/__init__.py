"""Kinds of evidence: each module reads a Case and says whom it accuses, how strongly and by which lines."""
