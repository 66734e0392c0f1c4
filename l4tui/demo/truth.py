"""The truth file of a written job: who is to blame and which lines prove it."""

from __future__ import annotations

from typing import Any

import numpy as np

from l4tui.demo.faults import Fault, scenario_named
from l4tui.demo.job import Job
from l4tui.demo.layouts import TORN, UNSAID, Layout

SAMPLE = 400  # lines whose writer is told


def truth_of(job: Job, fault: Fault, layout: Layout, baseline: str | None) -> dict[str, Any]:
    """Return the fields that scoring reads."""
    main = max(layout.lines, key=lambda name: (layout.lines[name], name))
    ranks = sample_of_writers(job, layout)
    others = {name: asked for name, asked in ranks.items() if name != main}
    return {
        "name": job.spec.scenario,
        "fault": job.spec.scenario,
        "cause": scenario_named(job.spec.scenario).cause,
        "scope": fault.scope,
        "world_size": job.ranks,
        "nodes": {host: list(job.ranks_of(node)) for node, host in enumerate(job.hosts)},
        "style": job.spec.style,
        "layout": job.spec.layout,
        "seed": job.spec.seed,
        "culprit_ranks": fault.ranks,
        "culprit_nodes": [job.hosts[node] for node in fault.nodes],
        "also_acceptable_ranks": fault.also,
        "decoy_ranks": fault.decoys,
        "stage": fault.stage,
        "iteration": fault.at if fault.stage in ("train", "checkpoint", "eval") else None,
        "job_outcome": fault.outcome,
        "restarts": job.attempt,
        "failure_patterns": list(fault.patterns),
        "failure_pattern_scope": list(fault.scopes),
        "cascade_patterns": list(fault.cascade) if fault.stage else [],
        "file": main,
        "line_count": sum(layout.lines.values()),
        "rank_of_line": ranks.get(main, {}),
        "rank_of_line_other": others,
        **({"healthy_baseline": baseline} if baseline else {}),
    }


def sample_of_writers(job: Job, layout: Layout) -> dict[str, dict[str, Any]]:
    """Choose lines over all files and tell who wrote them: a rank, null, or the ranks of a torn line."""
    rng = np.random.default_rng([job.spec.seed, 0x42])
    total = sum(len(seen) for seen in layout.writers.values())
    chosen: dict[str, dict[str, Any]] = {}
    for name in sorted(layout.writers):
        seen = np.frombuffer(layout.writers[name], dtype=np.int32)
        if name.startswith("dmesg-") or not len(seen):
            continue
        wanted = min(len(seen), -(-SAMPLE * len(seen) // total))
        for at in np.sort(rng.choice(len(seen), wanted, replace=False)):
            writer = int(seen[at])
            if writer == UNSAID:
                continue
            told = layout.torn[name, int(at)] if writer == TORN else writer if writer >= 0 else None
            chosen.setdefault(name, {})[str(int(at) + 1)] = told
    return chosen
