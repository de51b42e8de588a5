"""Answers that are kept as long as the archive stays as it is: a workflow engine asks the same
thing thousands of times."""

from __future__ import annotations

import collections
import os
import threading
import time
from concurrent.futures import Future
from typing import Callable, Dict, Generic, Hashable, List, Optional, Tuple, TypeVar

T = TypeVar("T")

#: So many answers are kept; the one that was not asked for longest goes first.
ANSWERS_MAX = 4096

#: What an archive looks like from outside: names and times of what changes with each attempt.
State = Tuple[Tuple[str, Optional[int]], ...]


def state(folder: str) -> State:
    """An attempt is a new file in one of 4096 folders below `tasks`, or `packed`, so the times of
    these folders tell whether anything was added."""
    marks: List[Tuple[str, Optional[int]]] = []
    for name in ("archive.json", "packed", "tasks"):
        marks.append((name, _changed(os.path.join(folder, name))))
    try:
        with os.scandir(os.path.join(folder, "tasks")) as entries:
            below = [(entry.name, _changed(entry.path)) for entry in entries]
    except OSError:
        # None yet; what cannot be read is told by the program, which is asked then.
        below = []
    return tuple(marks + sorted(below, key=lambda mark: mark[0]))


def _changed(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


class Answers(Generic[T]):
    """Answers of archives, for any number of threads. What several ask at once is asked once."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As if nothing had been asked before."""
        self._lock = threading.Lock()
        self._answers: "collections.OrderedDict[Hashable, Tuple[State, Future[T]]]" = (
            collections.OrderedDict()
        )
        self._states: Dict[str, Tuple[float, State]] = {}

    def look(self, folder: str) -> None:
        """The archive has changed: look at it when it is next asked."""
        with self._lock:
            self._states.pop(folder, None)

    def get(self, folder: str, key: Hashable, seconds: float, ask: Callable[[], T]) -> T:
        """The answer to `key`, which `ask` gives. The archive is looked at again where that was
        done more than `seconds` ago."""
        state = self._state(folder, seconds)
        with self._lock:
            kept = self._answers.get((folder, key))
            mine = kept is None or kept[0] != state
            answer: "Future[T]" = Future() if kept is None or mine else kept[1]
            self._answers[(folder, key)] = (state, answer)
            self._answers.move_to_end((folder, key))
            if len(self._answers) > ANSWERS_MAX:
                self._answers.popitem(last=False)
        if mine:
            self._fill(answer, (folder, key), ask)
        return answer.result()

    def _fill(self, answer: "Future[T]", key: Hashable, ask: Callable[[], T]) -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            # An error is told to those who wait for it now, and is no answer for later.
            with self._lock:
                kept = self._answers.get(key)
                if kept is not None and kept[1] is answer:
                    del self._answers[key]
            answer.set_exception(error)

    def _state(self, folder: str, seconds: float) -> State:
        now = time.monotonic()
        with self._lock:
            looked = self._states.get(folder)
        if looked is not None and now - looked[0] < seconds:
            return looked[1]
        # Before the question: what is added meanwhile makes it another state.
        seen = state(folder)
        with self._lock:
            self._states[folder] = (now, seen)
        return seen
