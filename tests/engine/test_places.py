"""Forms that no entry knows: a rank is read where many lines prove it, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.engine.crews import Form, clock, job, said
from tests.engine.reading import files_ranks, ranks_of

LOGGED: dict[str, Form] = {  # only what goes through the logger is tagged
    "level rank=": lambda r, t, k: f"INFO rank={r} {t}",
    "level rankN": lambda r, t, k: f"INFO rank{r} {t}",
    "level RANKN name": lambda r, t, k: f"{clock(k)} INFO RANK{r} fit: {t}",
    "bracket, then stamp": lambda r, t, k: f"[{r}][{clock(k)}] [INFO] [main] {t}",
    "logger, then rank": lambda r, t, k: f"[{clock(k)}][fit][rank {r}][INFO] {t}",
    "several pairs in brackets": lambda r, t, k: f"{clock(k)} INFO     [rank={r} ep=0 st={k}] fit {t}",
    "padded, of all": lambda r, t, k: f"{clock(k)} | INFO     | rank={r:>2}/8  | fit | {t}",
    "milliseconds first": lambda r, t, k: f"[{31 * k} ms] [Rank {r}] [INFO] {t}",
    "at the end": lambda r, t, k: f"fit: {t} [rank {r}]",
    "at the end, round": lambda r, t, k: f"{clock(k)} INFO {t} (rank {r})",
    "at the end, pair": lambda r, t, k: f"{clock(k)} [INFO] {t} rank={r}",
    "pairs behind the message": lambda r, t, k: f"{clock(k)} [info     ] {t:<40} host=gx{r // 4} rank={r} part=5",
    "logfmt": lambda r, t, k: f'ts={clock(k).replace(" ", "T")}Z level=info msg="{t}" rank={r} host=gx{r // 4}',
    "a letter": lambda r, t, k: f"{clock(k)[11:]} r{r} {t}",
    "angle": lambda r, t, k: f"{clock(k)[11:]} rank{r}> {t}",
    "words": lambda r, t, k: f"Rank {r} {t}",
    "words, of all": lambda r, t, k: f"rank {r}/8 {t}",
    "call": lambda r, t, k: f"rank({r}) {t}",
    "process, bar": lambda r, t, k: f"Process {r} | {t}",
    "worker, behind a stamp": lambda r, t, k: f"{clock(k)} [Worker {r}] {t}",
    "device": lambda r, t, k: f"[GPU{r}] {t}",
    "host and rank": lambda r, t, k: f"gx-{r // 4 + 11}:rank{r}: {t}",
    "host and number": lambda r, t, k: f"{clock(k)} [gx-{r // 4 + 11}] [{r}] [INFO] {t}",
    "number behind the level": lambda r, t, k: f"{clock(k)} INFO [{r}] {t}",
    "number between bars": lambda r, t, k: f"{clock(k)} | {r} | {t}",
    "number, then level": lambda r, t, k: f"{clock(k)} {r} INFO {t}",
    "number and colon behind the level": lambda r, t, k: f"{clock(k)} INFO {r}: {t}",
    "number between dashes behind names": lambda r, t, k: f"{clock(k)},083 - fit.main - {r} - INFO - {t}",
    "number between bars behind names": lambda r, t, k: f"{clock(k)} | INFO | fit | {r} | {t}",
    "number in brackets and colon": lambda r, t, k: f"{clock(k)} [{r}]: INFO {t}",
    "a launcher's variable": lambda r, t, k: f"{clock(k)} SLURM_PROCID={r} {t}",
    "letter, of all": lambda r, t, k: f"r{r}/8 - {t}",
    "groups and rank": lambda r, t, k: f"[dp={r // 2} tp={r % 2} rank={r}] {t}",
    "JSON, nested": lambda r, t, k: f'{{"time": "{clock(k)}", "message": "{t}", "extra": {{"rank": {r}}}}}',
    "JSON, as text": lambda r, t, k: f'{{"time": "{clock(k)}", "message": "{t}", "rank": "{r}"}}',
    "JSON, another name": lambda r, t, k: f'{{"ts": "{clock(k)}", "msg": "{t}", "process_index": {r}}}',
}
LAUNCHED: dict[str, Form] = {  # a launcher tags every line
    "glued brackets": lambda r, t, k: f"[{r}]{t}",
    "number": lambda r, t, k: f"{r} {t}",
    "number, bar": lambda r, t, k: f"{r} | {t}",
    "number, dash": lambda r, t, k: f"{r} - {t}",
    "angles": lambda r, t, k: f"<{r}> {t}",
    "hash": lambda r, t, k: f"#{r} {t}",
    "letter": lambda r, t, k: f"r{r}: {t}",
    "host:number": lambda r, t, k: f"[gx-{r // 4 + 11}:{r}] {t}",
    "number:host": lambda r, t, k: f"{r}:gx-{r // 4 + 11}: {t}",
    "number:pid": lambda r, t, k: f"[{r}:{4000 + 3 * r}] {t}",
    "node:number": lambda r, t, k: f"[{r // 4}:{r}] {t}",
    "element": lambda r, t, k: f"PE {r}: {t}",
    "worker": lambda r, t, k: f"[worker {r}] {t}",
    "node, then rank": lambda r, t, k: f"NODE {r // 4} RANK {r} {t}",
    "sky": lambda r, t, k: f"({f'worker{r}' if r else 'head'}, rank={r}, pid={900 + r}, ip=10.0.0.{r}) {t}",
}


@pytest.mark.parametrize("led", [False, True], ids=["all talk", "rank 0 talks"])
@pytest.mark.parametrize("name", LOGGED)
def test_a_form_of_a_logger(tmp_path: Path, name: str, led: bool) -> None:
    lines = job(LOGGED[name], led=led)
    found = ranks_of(tmp_path, [line for line, _ in lines])
    assert [(line, rank) for (line, told), rank in zip(lines, found, strict=True) if told is not None] == [
        (line, told) for line, told in lines if told is not None
    ]


COLLECTED: dict[str, Callable[[str, int], str]] = {  # text, number of the line → what a collector writes
    "docker": lambda t, k: f'{{"log":"{t}\\n","stream":"stderr","time":"2026-11-29T10:00:{k % 60:02}.5Z"}}',
    "logcli": lambda t, k: f'2026-11-29T10:00:{k % 60:02}Z {{pod="fit-worker-0"}} {t}',
    "one pod of kubetail": lambda t, k: f"[fit-worker-0] {t}",
    "journal": lambda t, k: f"Nov 29 10:00:{k % 60:02} gx-1 fit.sh[812]: {t}",
    "stamped": lambda t, k: f"{clock(k)} {t}",
    "quoted": lambda t, k: f"> {t}",
    "indented": lambda t, k: f"    {t}",
    "numbered": lambda t, k: f"{k + 1:6}\t{t}",
    "grep": lambda t, k: f"fit.log:{k + 1}:{t}",
    "a log of logs": lambda t, k: f'{{"textPayload": "{t}", "timestamp": "{clock(k)}"}}',
}


@pytest.mark.parametrize("form", ["[default{r}]:{t}", "[rank{r}]: {t}", "{r}: {t}"])
@pytest.mark.parametrize("name", COLLECTED)
def test_what_a_collector_wrote_in_front(tmp_path: Path, name: str, form: str) -> None:
    lines = [(form.format(r=r, t=text), r) for r, text in said(4, led=False)]
    found = ranks_of(tmp_path, [COLLECTED[name](line, k) for k, (line, _) in enumerate(lines)])
    bare = form[0] == "{" and name in ("journal", "a log of logs", "grep", "one pod of kubetail")
    assert found == [None if bare else rank for _, rank in lines]


@pytest.mark.parametrize("led", [False, True], ids=["all talk", "rank 0 talks"])
@pytest.mark.parametrize("name", LAUNCHED)
def test_a_form_of_a_launcher(tmp_path: Path, name: str, led: bool) -> None:
    lines = job(LAUNCHED[name], led=led, every=True)
    assert ranks_of(tmp_path, [line for line, _ in lines]) == [rank for _, rank in lines]


draw = Random(5).randrange
OWN = '"rank": 16, '
NO_RANKS: dict[str, Callable[[int], str]] = {  # number of the line → line
    "adapters": lambda k: f"{clock(k)} INFO " + (f"step={k} loss=1.{k}" if k % 9 else "lora rank=16 alpha=32"),
    "a search over adapters": lambda k: f"INFO trial rank={4 << k // 23} alpha={8 << k // 23} loss=0.{draw(99)}",
    "rank of a matrix": lambda k: f"{clock(k)} INFO layer {k}: low-rank factor (rank {4 + 4 * (k % 2)})",
    "results": lambda k: f"[Rank {k % 6}] score=0.{draw(99)} doc {draw(900)}" if k % 6 else f"query {k // 6}",
    "results as pairs": lambda k: f"{clock(k)} INFO rank={k % 5 + 1} score=0.{draw(99)} doc={draw(900)}",
    "results at the end": lambda k: f"{clock(k)} INFO {'ABCDEFG'[draw(7)]} placed (rank {draw(5)})",
    "results in JSON": lambda k: f'{{"time": "{clock(k)}", "message": "hit", "rank": {draw(10)}, "took": 0.{draw(9)}}}',
    "one message's own rank": lambda k: f'{{"time": "{clock(k)}", {OWN * (k == 5)}"message": "m{k}"}}',
    "a table by one rank": lambda k: f"{clock(k // 8)} INFO rank={k % 8} mem=0.{draw(99)} temp={draw(50)}",
    "about others": lambda k: f"{clock(k)} WARNING slow rank={draw(8)} step={k} ms={draw(900)}",
    "pids": lambda k: f"{clock(k)} - INFO - [Rank {(41201, 41207, 41213)[draw(3)]}] - step {k}",
    "a pool": lambda k: f"[worker {draw(4)}] {('fetched', 'parsed', 'stored')[draw(3)]} shard {k}",
    "a pool's tasks": lambda k: f"{clock(k)} [INFO] worker {draw(8)}: task {k}",
    "devices polled": lambda k: f"GPU {k % 8}: {draw(80)} C, {draw(400)} W",
    "devices of a queue": lambda k: f"[gpu{draw(4)}] START trial {k}",
    "batches": lambda k: f"[{k % 8}/8] loss 0.{draw(99)} acc 0.{draw(99)}",
    "epochs": lambda k: f"[{k // 15}] step {k % 15} loss 0.{draw(99)}",
    "classes": lambda k: f"{k % 11}: recall 0.{draw(99)}" if k % 11 < 10 else f"epoch {k // 11}",
    "environments": lambda k: f"[{draw(8)}] env reset, return 0.{draw(99)}",
    "ranks of a group": lambda k: f"[TP rank {draw(4)}] gather {k}",
    "numbers of nodes": lambda k: f"{clock(k)} INFO [group_rank {draw(4)}] step={k} loss=0.{draw(99)}",
    "clients": lambda k: f"{clock(k)} INFO client {(3 * k + k // 8) % 8}: round {k // 8} loss 0.{draw(99)}",
    "folds": lambda k: f"Fold {k % 5} | epoch {k // 5} | auc 0.{draw(99)}",
    "one number alone": lambda k: f"[0] [actor={draw(4)}] did {'ABCDEFG'[draw(7)]}",
}


@pytest.mark.parametrize("label", ["", "cn{}: "], ids=["bare", "behind a host's label"])
def test_ranks_that_take_turns_strictly_and_tell_their_step(tmp_path: Path, label: str) -> None:
    lines = [f"{label.format(r // 4)}rank={r} step={80 + k} loss=0.{k}{r}" for k in range(4) for r in range(16)]
    assert ranks_of(tmp_path, lines) == [r for _ in range(4) for r in range(16)]


@pytest.mark.parametrize("form", ["[worker {r}] {t}", "{clock} INFO [{r}] {t}"])
@pytest.mark.parametrize("pool", ["opened a pool of 8 workers", "forking: 8 parser processes in the pool"])
def test_workers_of_a_pool_that_all_say_the_steps(tmp_path: Path, form: str, pool: str) -> None:
    lines = [form.format(r=r, t=text, clock=clock(k)) for k, (r, text) in enumerate(said(8, led=False))]
    assert set(ranks_of(tmp_path, [f"{clock(0)} {pool}", *lines])) == {None}
    assert set(ranks_of(tmp_path, [f"{clock(0)} {pool}, world size 8", *lines])) == {None, *range(8)}


@pytest.mark.parametrize("name", NO_RANKS)
def test_a_number_that_is_no_rank(tmp_path: Path, name: str) -> None:
    assert set(ranks_of(tmp_path, [NO_RANKS[name](k) for k in range(92)])) == {None}


def by_file(form: Form, shown: Callable[[int], int], name: Callable[[int], str], n: int = 8) -> dict[str, list[str]]:
    """Return the files of a job's processes, each line with the number that its process shows."""
    files: dict[str, list[str]] = {}
    for k, (r, text) in enumerate(said(n, led=False)):
        files.setdefault(name(r), []).append(form(shown(r), text, k))
    return files


@pytest.mark.parametrize("name", ["level rank=", "at the end", "process, bar", "number behind the level"])
def test_files_of_nodes(tmp_path: Path, name: str) -> None:
    files = by_file(LOGGED[name], lambda r: r, lambda r: f"gx-{r // 4 + 11}.txt")
    found = files_ranks(tmp_path, files)
    assert {file: set(ranks) for file, ranks in found.items()} == {"gx-11.txt": {0, 1, 2, 3}, "gx-12.txt": {4, 5, 6, 7}}


@pytest.mark.parametrize("name", ["level rank=", "level rankN", "at the end"])
def test_files_of_ranks_that_do_not_tell_it(tmp_path: Path, name: str) -> None:
    files = by_file(LOGGED[name], lambda r: r, lambda r: f"out{'abcdefgh'[r]}.txt")
    assert [set(ranks) for _, ranks in sorted(files_ranks(tmp_path, files).items())] == [{r} for r in range(8)]


@pytest.mark.parametrize(
    "form",
    [
        lambda r, t, k: f"[{clock(k)} rank{r}] {t}",
        lambda r, t, k: f"rank {r}: {t}",
        lambda r, t, k: f"{r}: {t}",
        lambda r, t, k: f"[rank{r}]: {t}",
        lambda r, t, k: f"Process {r} | {t}",
        lambda r, t, k: f"{clock(k)} INFO rank={r} {t}",
    ],
)
def test_numbers_that_each_node_counts_for_itself(tmp_path: Path, form: Form) -> None:
    found = files_ranks(tmp_path, by_file(form, lambda r: r % 4, lambda r: f"gx-{r // 4 + 11}.txt"))
    assert {rank for ranks in found.values() for rank in ranks} == {None}


@pytest.mark.parametrize("text", ["rank {r} has reached step {k}", "rank {r}: reported {k}", "Worker {r} finished {k}"])
def test_what_is_said_of_others(tmp_path: Path, text: str) -> None:
    lines = [f"{clock(k)} INFO " + text.format(r=draw(8), k=k // 8) for k in range(120)]
    assert set(ranks_of(tmp_path, lines)) == {None}


@pytest.mark.parametrize("form", ["gpu{r}: {t}", "[gpu-{r}] {t}", "worker{r} | {t}", "[worker-{r}] {t}"])
def test_names_of_machines(tmp_path: Path, form: str) -> None:
    lines = [form.format(r=r, t=text) for r, text in said(4, led=False)]
    assert set(ranks_of(tmp_path, lines)) == {None}


def test_devices_in_front_of_nccl(tmp_path: Path) -> None:
    texts = ("Using network Socket", "Channel 00/02 :    0   1", "Connected all rings", "8 coll channels")
    front = [f"gx-{1 + d // 4}:{4000 + d}:{4100 + d} [{d % 4}] NCCL INFO " for d in (3, 5, 0, 7, 1, 6, 2, 4)]
    lines = [one + text for text in texts for one in front]
    assert set(ranks_of(tmp_path, lines)) == {None}


def test_bars_of_a_pool(tmp_path: Path) -> None:
    bars = [f"{p:3}%|{'#' * (p // 10):<10}| {p}/100 [00:01<00:05, 9.1it/s]" for p in range(0, 99, 7)]
    lines = [f"#{worker}: {bar}" for bar in bars for worker in (2, 0, 3, 1)]
    assert set(ranks_of(tmp_path, lines)) == {None}


def test_ranks_that_two_files_claim_are_nobodys(tmp_path: Path) -> None:
    lines = [line for line, _ in job(LOGGED["level rank="], n=4)]
    found = files_ranks(tmp_path, {"gx1.txt": lines, "gx2.txt": lines})
    assert {rank for ranks in found.values() for rank in ranks} == {None}


def test_numbers_of_a_group_of_a_larger_job(tmp_path: Path) -> None:
    lines = [line for line, _ in job(LAUNCHED["worker"], n=4, every=True)]
    assert set(ranks_of(tmp_path, ["[worker 0] world_size: 16, ready", *lines])) == {None}


def test_local_numbers_on_two_hosts_are_no_ranks(tmp_path: Path) -> None:
    lines = [line for line, _ in job(lambda r, t, k: f"[gx-{r // 4 + 11}:{r % 4}] {t}", every=True)]
    assert set(ranks_of(tmp_path, lines)) == {None}
