"""Work on many processes: one function over a row of tasks, results in the order of the tasks.

The same code drives a pool of local processes and a Dask cluster; whatever a worker that died leaves undone is done
here.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures.process import BrokenProcessPool
from threading import Event
from typing import TypeVar

from l4tui.engine.children import begin, spawning

WAIT = 0.05  # seconds between two looks at `stop`
CONNECT = 10.0  # seconds in which a scheduler answers
MOST_DEATHS = 3  # after so many broken pools no new one is made
MOST_JOBS = 8  # by default: the merge keeps up with no more

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def cores() -> int:
    """Return the cores this process may use, at most MOST_JOBS."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_JOBS)


class Workers:
    """An executor that starts when it is first needed; one thread uses it at a time."""

    def __init__(self, jobs: int, dask: str = "", niceness: int = 0) -> None:
        """Take the number of local processes, or the address of a Dask scheduler (``tcp://host:8786``).

        `niceness`: by how much local processes stand back behind this one and others of the machine.
        """
        self.jobs = jobs
        self.dask = dask
        self.niceness = niceness
        self._executor: Executor | None = None
        self._client: object = None
        self._deaths = 0
        self.problem = ""  # why no worker could be had, in words

    def run(self, function: Callable[[_Task], _Result], tasks: Iterable[_Task], stop: Event) -> Iterator[_Result]:
        """Yield the result of every task, in order; ends early when `stop` is set.

        At most two tasks per worker are under way, so results do not pile up. A task's own exception is raised.
        """
        waiting = iter(tasks)
        pending: deque[tuple[_Task, Future[_Result] | None]] = deque()
        try:
            while not stop.is_set():
                while len(pending) < 2 * self.jobs and (task := next(waiting, None)) is not None:
                    pending.append((task, self._submit(function, task)))
                if not pending:
                    return
                task, future = pending.popleft()
                result = self._result(function, task, future, stop)
                if result is None:
                    return
                yield result
        finally:
            for _, future in pending:
                if future is not None:
                    future.cancel()

    def _submit(self, function: Callable[[_Task], _Result], task: _Task) -> Future[_Result] | None:
        if self._deaths >= MOST_DEATHS:
            return None
        try:
            if self._executor is None:
                self._executor = self._start()
            return self._executor.submit(function, task)
        except (BrokenProcessPool, RuntimeError):
            self._broken()
        except (ImportError, OSError, ValueError) as error:
            self._deaths = MOST_DEATHS
            self.problem = f"{self.dask or 'worker processes'}: {_words(error)}: all is read in this process"
        return None

    def _result(
        self, function: Callable[[_Task], _Result], task: _Task, future: Future[_Result] | None, stop: Event
    ) -> _Result | None:
        """Wait for a result; None when stopped. A task whose worker died is done here."""
        while future is not None and not stop.is_set():
            try:
                return future.result(WAIT)
            except NotYet:
                if future.done():  # the task's own, not the wait's
                    raise
            except (BrokenProcessPool, CancelledError):
                self._broken()
                future = None
            except Exception as error:
                if type(error).__name__ != "KilledWorker":  # of dask, which may not be installed
                    raise
                future = None
        return None if stop.is_set() else function(task)

    def _broken(self) -> None:
        """Give up a pool that lost a process; the next task starts another."""
        if isinstance(self._executor, ProcessPoolExecutor):
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
            self._deaths += 1

    def _start(self) -> Executor:
        if self.dask:
            from distributed import Client  # 600 ms CPU, and an extra: only where it is asked for

            logging.getLogger("distributed").setLevel(logging.ERROR)
            client = Client(self.dask, set_as_default=False, timeout=CONNECT)
            self._client = client
            self.jobs = max(len(client.scheduler_info()["workers"]), 1)
            executor: Executor = client.get_executor()
            return executor
        return ProcessPoolExecutor(self.jobs, spawning(), initializer=_begin, initargs=(self.niceness,))

    def close(self, wait: bool = False) -> None:
        """End the workers; without `wait` what they are still at is of no use any more."""
        if self._executor is not None:
            if isinstance(self._executor, ProcessPoolExecutor):
                processes = list((self._executor._processes or {}).values()) if not wait else []
                results = self._executor._result_queue
                self._executor.shutdown(wait=wait, cancel_futures=True)
                for process in processes:  # else Python, when it ends, waits for what they are still at
                    process.terminate()
                if processes and results is not None:  # and for the rest of a result that one was writing
                    results._writer.close()  # type: ignore[attr-defined]
            self._executor = None
        if self._client is not None:
            self._client.close()  # type: ignore[attr-defined]
            self._client = None


def _words(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "dask is not installed (pip install 'l4tui[cluster]')"
    if isinstance(error, TimeoutError):
        return "no scheduler answers"
    return str(error).split("\n", 1)[0]


def _begin(niceness: int) -> None:
    """Leave the processor to who is waited for."""
    begin()
    os.nice(niceness)
