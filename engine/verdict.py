"""The sentence a person can act on: cause, stage, iteration, scope, what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from l4tui.engine.blame import Blame, Candidate
from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.library.pattern import Role
from l4tui.engine.outcome import Outcome

UNSURE = 0.5
BEFORE = ("launch", "init", "data", "model_build")  # stages that are over once an iteration was marked
STATISTICS = {"spatial", "temporal", "error_time", "error_count"}  # kinds that tell who, but neither when nor why
_PATH = re.compile(r"(?:iter|step|ckpt|checkpoint|global_step)[_\-]?0*(\d+)(?!\d)", re.IGNORECASE)

# What frames of a traceback tell of the stage: an evaluation or a checkpoint anywhere in the stack, then the training
# loop, then what is built; of the last the deepest frame decides.
_INSIDE = (
    (
        "eval",
        re.compile(
            r"\b(?:evaluat\w*|validat\w*(?<!args)(?<!config)(?<!options)|eval_step|run_eval|test_step)\s*\(|"
            r"\bin (?:on_)?(?:evaluat|validat)(?!\w*(?:arg|conf|opt|param|schema|input))\w*|"
            r"/(?:eval|valid)\w*\.py\""
        ),
    ),
    (
        "checkpoint",
        re.compile(
            r"(?:save|load)_(?:\w+_)?checkpoint|\b_?(?:save|load|restore)_(?:rng|optimizer|scheduler)\w*\(|checkpoint\w*\.(?:save|load|write)|dcp\.(?:save|load)|\bsave_state|"
            r"checkpoint\w*(?:\.py|/\w+\.py)\"",
            re.IGNORECASE,
        ),
    ),
    (
        "train",
        re.compile(
            r"\bfit\(|train_step|training_step|\.backward\(|optimizer\.step|\btrain\(\)|\bin (?:fit|train_step)\b"
        ),
    ),
)
_BUILT = (
    (
        "model_build",
        re.compile(
            r"model\w*\.build|build_model|get_model|setup_model|create_model|from_pretrained|"
            r"/model\w*\.py\", line \d+,? in (?:build|__init__|setup)"
        ),
    ),
    (
        "data",
        re.compile(
            r"\bdata\w*\.build|build_data\w*|get_dataset|load_dataset|Dataset\(|"
            r"\bin (?:read|load|open|build|prepare|scan|index)_(?:\w+_)?(?:index|shards?|corpus|manifest|samples)$|"
            r"/data\w*\.py\", line \d+,? in (?:build|__init__|setup|prepare|load)"
        ),
    ),
    (
        "init",
        re.compile(r"init_process_group|init_distributed|initialize_model_parallel|init_device_mesh|set_device\(|initialize_megatron|dist\.init|comm\.init|_create_c10d_store"),
    ),
)


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
    iteration = iteration if stage in (None, "train", "checkpoint", "eval", "teardown") else None
    actions = tuple(dict.fromkeys(a for f in findings for a in f.actions))
    return Verdict(
        summary=_sentence(case, blame, lead, stage, iteration, outcome),
        cause=cause,
        stage=stage,
        iteration=iteration,
        scope=blame.scope,
        confidence=blame.confidence,
        actions=actions,
    )


def _deciding(blame: Blame) -> list[Finding]:
    if blame.scope == "job":
        return list(blame.job)
    top: Candidate = blame.ranks[0] if blame.ranks else blame.nodes[0]
    telling = [f for f in top.findings if f.kind not in STATISTICS]
    return telling or list(top.findings)


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
        return f"The whole job{where}: {_ended(lead.sentence)}"
    who = word_ranks(blame.accused) if blame.accused else f"node {blame.nodes[0].node}"
    nodes = sorted({str(n) for r in blame.accused if (n := case.node_of(r))})
    if blame.accused and nodes:
        who += f" on {', '.join(nodes[:4])}{'…' if len(nodes) > 4 else ''}"
    unsure = "Unsure; most likely " if blame.confidence < UNSURE else ""
    text = f"{unsure}{who}{where}: {_ended(_without_name(blame, lead))}"
    return text if outcome is not Outcome.COMPLETED else f"{text} The job completed."


def _ended(sentence: str) -> str:
    """End a sentence with one full stop, unless it ends where its words were cut."""
    return sentence if sentence.endswith("…") else f"{sentence.rstrip('.')}."


def _without_name(blame: Blame, lead: Finding) -> str:
    """Return the finding's sentence without the rank or node in front of it, which the verdict has named already."""
    name = word_ranks([lead.rank]) if lead.rank >= 0 else str(lead.node)
    if lead.sentence.startswith(f"{name} raised its own error") and len(blame.accused) > 1:
        return f"each{lead.sentence.removeprefix(name).replace('its own', 'this', 1)}"
    if blame.accused not in ((), (lead.rank,)):
        return lead.sentence
    rest = lead.sentence.removeprefix(f"{name}: ")
    return f"it{rest.removeprefix(name)}" if rest.startswith(f"{name} ") else rest


def _iteration(case: Case, blame: Blame, findings: list[Finding]) -> int | None:
    """The culprit's iteration: what its evidence tells, then where its lines stand, then how far the job was."""
    j = case.journal
    named = [
        int(m[1]) for f in findings[:2] for r in f.rows[:1] if f.cause == "storage" and (m := _PATH.search(j.text(r)))
    ]
    known = named + [f.iteration for f in findings if f.iteration >= 0]
    known += [int(j.iteration[r]) for f in findings for r in f.rows[:1] if j.iteration[r] >= 0]
    known += [at for rank in blame.accused if (at := case.iteration_of(rank)) >= 0]
    if known:
        return known[0]
    if blame.scope == "job" and findings[0].cause != "scheduler":
        return None
    ends = [at for r in case.ranks if (at := case.iteration_of(r)) >= 0]
    carried = j.iteration[case.mask]
    return int(np.median(ends)) if ends else int(carried.max(initial=-1)) if (carried >= 0).any() else None


def _stage(case: Case, blame: Blame, findings: list[Finding]) -> str | None:
    """The culprit's stage: from its own traceback, from the message, from its own lines, from its peers'."""
    j = case.journal
    own = [f for f in findings if f.root and f.kind in ("first_exception", "hardware", "value") and f.rows]
    if findings[0].stage:
        return findings[0].stage
    for f in own:
        if f.kind == "first_exception" and (told := _from_frames(case, f.rows)) is not None:
            return told
    lead = findings[0]
    if lead.kind == "explicit_blame" and (told := _from_frames(case, lead.rows)) not in (None, "train"):
        return told  # where the writers stood who waited for it
    if lead.cause == "desync" or lead.kind == "progress_gap":
        if "went on" in lead.sentence:
            return "train"  # it passed a collective of the step that its peers still wait in
        among = _last_stage(case, set(blame.accused))  # it ought to have been where its peers were
        return "train" if among in ("launch", "init", None) else among
    for f in findings:
        if f.stage and (f.kind == lead.kind or (f.root and f.strength is Strength.STRONG)):
            return f.stage
    wrote = [int(j.stage[r]) for f in (own or findings) for r in f.rows if _is_own(case, blame, r) and j.stage[r] >= 0]
    if wrote and (own or lead.kind not in ("silence", "progress_gap")):
        stage = j.stages[Counter(wrote).most_common(1)[0][0]]
        begun = any(
            case.iteration_at(r, row) > 0 for f in (own or findings) for row in f.rows[:1] for r in blame.accused
        )
        return "train" if begun and stage in BEFORE else stage
    return _last_stage(case)


def _is_own(case: Case, blame: Blame, row: int) -> bool:
    rank = int(case.journal.rank[row])
    if blame.scope == "job":
        return rank >= 0 or not case.ranks
    return rank in blame.accused or (rank < 0 and not case.ranks)


def _last_stage(case: Case, but: Collection[int] = ()) -> str | None:
    """Stage in which most ranks, but these, wrote their last own line."""
    j = case.journal
    lives = [life for life in case.lives.values() if life.rank not in but]
    lasts = [int(j.stage[life.last_row]) for life in lives]
    marked = [int(j.stage[life.last_marked_row]) for life in lives if life.last_marked_row >= 0]
    for stages in (lasts, marked, j.stage[case.mask].tolist()[-200:]):
        names = Counter(j.stages[s] for s in stages if s >= 0 and j.stages[s] != "teardown")
        if names:
            stage = names.most_common(1)[0][0]
            return "train" if len(case.ticks) and stage in BEFORE else stage
    return "launch" if not case.ranks else None


def _from_frames(case: Case, rows: tuple[int, ...]) -> str | None:
    """Read the stage from the traceback that a row ends."""
    j = case.journal
    for row in [r for r in rows if not (j.launcher[r] and case.ranks)][:4]:
        record = np.flatnonzero(j.record == j.record[row])
        record = record[(record <= row) & (j.rank[record] == j.rank[row])]
        frames = [t for t in j.read(record[:-1][-400:].astype(np.int64)) if t.startswith("  ")]
        frames += j.text(row).replace('\\"', '"').split("\\n")[1:]  # a traceback in a field of a record
        for stage, regex in _INSIDE:
            if any(regex.search(t) for t in frames):
                return stage
        for text in reversed(frames):
            for stage, regex in _BUILT:
                if regex.search(text):
                    return stage
    return None
