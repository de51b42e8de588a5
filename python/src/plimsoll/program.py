"""The program `plimsoll`: where it is, whether it will do, and asking it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from typing import Any, Dict, IO, List, Optional, Sequence, Tuple, Type, Union

from .errors import ArchiveError, ArchiveWarning, Error, ProgramMissing, ProgramUnfit, Refused

#: A path, as the standard library takes it.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

#: The first version that answers what this package asks.
VERSION_LEAST = (0, 1, 0)

#: Names another program than the one that would be found.
VARIABLE = "PLIMSOLL"

_USAGE = 2
_INSTALL = "install it (docs/python.md of Plimsoll tells how) or name it: program=, or " + VARIABLE


class Program:
    """The program at a path. `find` is the way to have one."""

    def __init__(self, path: str, version: str) -> None:
        #: Where it is.
        self.path = path
        #: What it says of itself: `0.1.0`.
        self.version = version

    def __repr__(self) -> str:
        return f"Program({self.path!r}, {self.version!r})"

    def read(
        self, words: Sequence[Union[str, bytes]], fallback: Type[Error] = Error
    ) -> Tuple[int, str, Error]:
        """Asks, and gives back the exit status, the answer, and the error that a bad status is."""
        done = self._call([self.path, *words])
        warn(done.stderr)
        return done.returncode, done.stdout.decode("utf-8", "replace"), failure(
            done.returncode, done.stderr, fallback
        )

    def ask(self, words: Sequence[Union[str, bytes]], fallback: Type[Error] = Error) -> str:
        """Asks, and gives back the answer. A status other than 0 is an error, of the kind
        `fallback` where the program's words do not tell."""
        status, answer, error = self.read(words, fallback)
        if status != 0:
            raise error
        return answer

    def start(self, words: Sequence[Union[str, bytes]], errors: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Starts it, its answer in a pipe; what it complains about goes to a file."""
        try:
            return subprocess.Popen(
                [self.path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except (OSError, ValueError) as error:
            raise _not_executed(self.path, error) from error

    @staticmethod
    def _call(words: List[Union[str, bytes]]) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except (OSError, ValueError) as error:
            raise _not_executed(os.fsdecode(words[0]), error) from error


def _not_executed(path: str, error: Exception) -> Error:
    # A null byte in a word: nothing is wrong with the program.
    if isinstance(error, ValueError):
        return Refused(f"a word for plimsoll cannot be given to any program: {error}")
    return ProgramMissing(f"{path} cannot be executed: {error}; {_INSTALL}")


def failure(status: int, complaint: bytes, fallback: Type[Error] = Error) -> Error:
    """The error that an exit status is, by what the program complained about."""
    text = _first_part(complaint.decode("utf-8", "replace"))
    if "this plimsoll was built" in text or "unrecognized subcommand" in text:
        kind: Type[Error] = ProgramUnfit
    elif "unexpected argument" in text and status == _USAGE:
        return ProgramUnfit(f"{text}: this plimsoll is too old for it, a later one has it")
    elif status == _USAGE:
        kind = Refused
    elif text.startswith("archive "):
        kind = ArchiveError
    elif status < 0:
        kind, text = Error, f"plimsoll was killed by signal {-status}" + (f": {text}" if text else "")
    else:
        kind = fallback
    return kind(text or f"plimsoll ended with status {status} and did not say why")


def warn(complaint: bytes) -> None:
    """Passes on what the program warned of, so that it is seen once by whoever asked."""
    for line in complaint.decode("utf-8", "replace").split("\n"):
        _, is_warning, text = line.partition("warning: ")
        if is_warning:
            warnings.warn(text, ArchiveWarning, stacklevel=4)


def _first_part(text: str) -> str:
    """What it complained about, without its name and without how it is used."""
    kept = []
    for line in text.strip().split("\n"):
        if not line.strip():
            break
        kept.append(line.strip())
    return re.sub(r"^(error|plimsoll( [a-z]+)?): ", "", " ".join(kept))


def json_of(text: str, schema: str) -> Dict[str, Any]:
    """An answer, which is of this schema."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ProgramUnfit(f"the answer of plimsoll is no JSON ({error}): is it another version?") from error
    said = value.get("schema") if isinstance(value, dict) else None
    if said != schema:
        raise ProgramUnfit(
            f"plimsoll answered with {said or 'no schema'} and {schema} is understood here: "
            "the program and this package are of different versions, update both"
        )
    return value  # type: ignore[no-any-return]


_known: Dict[Tuple[str, int, int], Program] = {}
_lock = threading.Lock()


def find(program: Optional[Path] = None) -> Program:
    """The program: `program`, else what the variable PLIMSOLL names, else the first `plimsoll` on
    PATH, else the one beside this interpreter.

    >>> find().version >= "0.1.0"
    True
    >>> find("/no/such/plimsoll")
    Traceback (most recent call last):
        ...
    plimsoll.errors.ProgramMissing: program= names /no/such/plimsoll: No such file or directory
    """
    path = _path(program)
    try:
        about = os.stat(path)
    except OSError as error:
        raise ProgramMissing(f"{path}: {error.strerror}; {_INSTALL}") from error
    # Another one in its place is asked again.
    key = (path, about.st_mtime_ns, about.st_size)
    with _lock:
        found = _known.get(key)
    if found is None:
        found = Program(path, _version(path))
        with _lock:
            _known[key] = found
    return found


def _path(program: Optional[Path]) -> str:
    named = os.environ.get(VARIABLE)
    if program is not None:
        return _named(os.fsdecode(program), "program=")
    if named:
        return _named(named, VARIABLE)
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "plimsoll")
    found = shutil.which("plimsoll") or (beside if os.access(beside, os.X_OK) else None)
    if found is None:
        raise ProgramMissing(f"there is no program plimsoll on PATH, nor {beside}: {_INSTALL}")
    return os.path.abspath(found)


def _named(name: str, by: str) -> str:
    """A word without a slash is looked for on PATH, as a shell does."""
    path = name if os.sep in name else shutil.which(name)
    if path is None:
        raise ProgramMissing(f"{by} names {name}, which is not on PATH")
    if not os.path.exists(path):
        raise ProgramMissing(f"{by} names {path}: No such file or directory")
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise ProgramMissing(f"{by} names {path}, which may not be executed")
    return os.path.abspath(path)


def _version(path: str) -> str:
    done = Program._call([path, "--version"])
    match = re.match(rb"plimsoll (\d+)\.(\d+)\.(\d+)\S*", done.stdout)
    if done.returncode != 0 or match is None:
        raise ProgramUnfit(f"{path} is not Plimsoll, by what `{path} --version` says: {_INSTALL}")
    if tuple(int(part) for part in match.groups()) < VERSION_LEAST:
        least = ".".join(map(str, VERSION_LEAST))
        said = match.group(0).decode("ascii", "replace")
        raise ProgramUnfit(f"{path} is {said}, and at least {least} is needed: update it, or name another")
    return match.group(0).decode("ascii", "replace").split(" ", 1)[1]
