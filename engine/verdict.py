"""The sentence a person can act on: cause, stage, iteration, scope, what to do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from l4tui.engine.blame import Blame, Candidate
from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.outcome import Outcome

UNSURE = 0.5

# What a frame of a traceback tells of the stage; the deepest frame of the program's own code decides.
_FRAMES = (
    ("eval", re.compile(r"\b(?:evaluat\w*|validat\w*|eval_step|run_eval|test_step)\s*\(|\bin (?:evaluat\w*|validat\w*)")),
    ("checkpoint", re.compile(r"save_checkpoint|checkpoint\w*\.(?:save|load|write)|dcp\.(?:save|load)|torch\.save|save_state")),
    ("init", re.compile(r"init_process_group|init_distributed|initialize_megatron|dist\.init|comm\.init|_rendezvous")),
    ("model_build", re.compile(r"model\w*\.build|build_model|get_model|setup_model|create_model|from_pretrained")),
    ("data", re.compile(r"\bdata\w*\.build|build_dataset|build_dataloader|get_dataset|load_dataset|Dataset\(")),
    ("train", re.compile(r"\bfit\(|train_step|\.backward\(|\bforward\(|optimizer\.step|training_step|\btrain\(|self\.model\(")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the report says first."""

    summary: str
    cause: str
    stage: str | None
    iteration: int | None
    scope: str
    confidence: float
    actions: tuple[str, ...]


def conclude(case: Case, blame: Blame, outcome: Outcome) -> Verdict:
    """Word the verdict on one attempt."""
    if blame.scope == "none":
        return _nobody(case, blame, outcome)
    findings = _deciding(blame)
    lead = findings[0]
    cause = next((f.cause for f in findings if f.cause != "unknown"), "unknown")
    cause = _sharpen(case, cause, findings)
    iteration = _iteration(case, blame, findings)
    stage = _stage(case, blame, findings)
    actions = tuple(dict.fromkeys(a for f in findings for a in f.actions))
    return Verdict(
        summary=_sentence(case, blame, lead, stage, iteration, outcome),
        cause=cause,
        stage=stage,
        iteration=iteration if stage in (None, "train", "checkpoint", "eval", "teardown") else None,
        scope=blame.scope,
        confidence=blame.confidence,
        actions=actions,
    )


def _deciding(blame: Blame) -> list[Finding]:
    if blame.scope == "job":
        return list(blame.job)
    top: Candidate = blame.ranks[0] if blame.ranks else blame.nodes[0]
    return list(top.findings)


def _sharpen(case: Case, cause: str, findings: list[Finding]) -> str:
    """A process that was killed where the kernel or the scheduler tells of memory died for memory."""
    if cause in ("killed", "crash", "hang") and any(s.pattern.cause == "oom_host" for s in case.roles(Role.INITIATING)):
        return "oom_host"
    if cause == "network" and any(f.cause == "gpu" and f.kind == "hardware" for f in findings):
        return "gpu"
    return cause


def _nobody(case: Case, blame: Blame, outcome: Outcome) -> Verdict:
    words = {
        Outcome.COMPLETED: "The job completed; nothing accuses a rank.",
        Outcome.RUNNING: "The job runs; nothing accuses a rank.",
        Outcome.FAILED: "The job failed; the log names no culprit.",
        Outcome.HUNG: "The job hangs; the log names no culprit.",
        Outcome.UNKNOWN: "The log does not tell how the job went.",
    }
    stage = _last_stage(case) if outcome in (Outcome.FAILED, Outcome.HUNG) else None
    return Verdict(words[outcome], "unknown", stage, None, "none", blame.confidence, ())


def _sentence(
    case: Case, blame: Blame, lead: Finding, stage: str | None, iteration: int | None, outcome: Outcome
) -> str:
    where = f" in {stage}" if stage else ""
    where += f", iteration {iteration}" if iteration is not None else ""
    if blame.scope == "job":
        return f"The whole job{where}: {lead.sentence}."
    who = word_ranks(blame.accused) if blame.accused else f"node {blame.nodes[0].node}"
    nodes = sorted({str(n) for r in blame.accused if (n := case.node_of(r))})
    if blame.accused and nodes:
        who += f" on {', '.join(nodes[:4])}{'…' if len(nodes) > 4 else ''}"
    unsure = "Unsure; most likely " if blame.confidence < UNSURE else ""
    text = f"{unsure}{who}{where}: {lead.sentence}."
    return text if outcome is not Outcome.COMPLETED else f"{text} The job completed."


def _iteration(case: Case, blame: Blame, findings: list[Finding]) -> int | None:
    known = [f.iteration for f in findings if f.iteration >= 0]
    if known:
        return known[0]
    for rank in blame.accused:
        if (at := case.iteration_of(rank)) >= 0:
            return at
    if blame.scope == "job":
        return None
    ends = [at for r in case.ranks if (at := case.iteration_of(r)) >= 0]
    return int(np.median(ends)) if ends else None


def _stage(case: Case, blame: Blame, findings: list[Finding]) -> str | None:
    lead = next((f for f in findings if f.rows), findings[0])
    for rows in (lead.rows, *(f.rows for f in findings if f.root)):
        if (told := _from_frames(case, rows)) is not None:
            return told
    for f in findings:
        if f.stage:
            return f.stage
    j = case.journal
    own = [int(j.stage[r]) for r in lead.rows if j.rank[r] >= 0 and j.stage[r] >= 0]
    if own and lead.kind not in ("explicit_blame", "silence", "progress_gap"):
        return j.stages[Counter(own).most_common(1)[0][0]]
    return _last_stage(case, blame.accused)


def _last_stage(case: Case, accused: tuple[int, ...] = ()) -> str | None:
    """Stage in which most ranks wrote their last own line; the accused's own where ranks differ."""
    j = case.journal
    lasts = {r: int(j.stage[life.last_row]) for r, life in case.lives.items() if j.stage[life.last_row] >= 0}
    names = Counter(j.stages[s] for s in lasts.values() if j.stages[s] != "teardown")
    if not names:
        here = j.stage[case.mask]
        here = here[here >= 0]
        return j.stages[int(here.max())] if len(here) and not case.ranks else ("launch" if not case.ranks else None)
    return names.most_common(1)[0][0]


def _from_frames(case: Case, rows: tuple[int, ...]) -> str | None:
    """Read the stage from the traceback that the row ends."""
    j = case.journal
    for row in rows[:4]:
        if j.rank[row] == UNKNOWN:
            continue
        record = np.flatnonzero(j.record == j.record[row])
        record = record[(record <= row) & (j.rank[record] == j.rank[row])]
        if len(record) < 3:
            continue
        for text in reversed(j.read(record[:-1][-400:].astype(np.int64))):
            if not text.startswith("    "):
                continue
            for stage, frame in _FRAMES:
                if frame.search(text):
                    return stage
    return None
