"""Running a command under `plimsoll run`."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from typing import IO, Any, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import words
from .advice import changed
from .errors import ProgramMissing, Refused, RunError
from .place import usual
from .program import Path, Program, find
from .reporting import Report, report

Stream = Union[None, int, IO[Any]]


class Run(NamedTuple):
    """How a command ended, and what it used."""

    #: The exit status of `plimsoll run`: the command's own, 128+N for signal N, or a limit's.
    status: int
    report: Report


def run(
    command: Sequence[Path],
    *,
    archive: Union[None, bool, Path] = None,
    category: Optional[str] = None,
    set: Optional[str] = None,
    limits: Union[None, words.Values, Path] = None,
    attempt: Optional[int] = None,
    inputs: Sequence[Path] = (),
    outputs: Sequence[Path] = (),
    inputs_bytes: Optional[int] = None,
    labels: Optional[Mapping[str, str]] = None,
    output: Optional[Path] = None,
    options: Sequence[str] = (),
    cwd: Optional[Path] = None,
    env: Optional[Mapping[str, str]] = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    program: Optional[Path] = None,
) -> Run:
    """Runs a command and gives back its exit status and its report.

    - `archive`: the folder that the report is added to; True is the user's own.
    - `limits`: what ends it: `{"memory": "4GiB", "wall": timedelta(hours=2)}`, or what
      `plimsoll run --limits` takes.
    - `output`: the prefix of the report's files; without it they are gone afterwards.
    - `options`: further ones of `plimsoll run`: `["--level", "io"]`.
    - `category`, `set`, `attempt`, `inputs`, `outputs`, `inputs_bytes`, `labels`: as its options.
    - `cwd`, `env`, `stdin`, `stdout`, `stderr`: as of `subprocess.Popen`.

    A command that cannot be started has a report as well, and the status 127 or 126. Where Plimsoll
    itself cannot do what is asked nothing is started and it is a `RunError`.

    >>> status, report = run(["sh", "-c", "exit 3"], category="three")
    >>> status, report.exit.code, report.category, report.wall_time.method
    (3, 3, 'three', 'exact')
    """
    if isinstance(command, (str, bytes)) or not command:
        raise Refused(f"command={command!r}: a command is a list of words, such as ['make', '-j2']")
    found = find(program)
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        prefix = os.path.join(folder, "report") if output is None else os.path.abspath(os.fsdecode(output))
        asked = ["run", "--quiet", *words.path("--output", prefix), *_archive(archive)]
        asked += words.text("--category", category) + words.text("--set", set) + _limits(limits)
        asked += words.text("--attempt", attempt) + words.text("--inputs-bytes", inputs_bytes)
        asked += [word for one in inputs for word in words.path("--inputs", one)]
        asked += [word for one in outputs for word in words.path("--outputs", one)]
        asked += [f"--label={name}={value}" for name, value in (labels or {}).items()]
        asked += [*options, "--", *(os.fsdecode(word) for word in command)]
        file = prefix if prefix.endswith(".json") else prefix + ".json"
        before = _mark(file)
        status = _wait(found, asked, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr)
        if _mark(file) == before:
            raise RunError(
                f"plimsoll run ended with status {status} and wrote no report: why is on its stderr"
            )
        made = report(file)
    if archive is not None and archive is not False:
        changed(usual() if archive is True else _below(cwd, archive))
    return Run(status, made)


def _below(cwd: Optional[Path], path: Path) -> str:
    """Where a path leads from the folder that a command is in."""
    return os.path.normpath(os.path.join(os.path.abspath(os.fsdecode(cwd or ".")), os.fsdecode(path)))


def _archive(archive: Union[None, bool, Path]) -> List[str]:
    if archive is None or archive is False:
        return []
    return ["--archive"] if archive is True else words.path("--archive", archive)


def _limits(limits: Union[None, words.Values, Path]) -> List[str]:
    if limits is None or isinstance(limits, Mapping):
        return words.amounts("--limit", limits)
    return words.path("--limits", limits)


def _mark(file: str) -> "tuple[int, ...]":
    """What the report's file is now, to know a new one from an old one."""
    try:
        about = os.stat(file)
    except OSError:
        return ()
    return (about.st_ino, about.st_mtime_ns, about.st_size)


def _wait(program: Program, asked: List[str], **streams: Any) -> int:
    """Waits for its end. An interrupt (Ctrl-C) reaches the command by the terminal, and the report
    is written when that has ended: it is waited for, and only a second interrupt ends it."""
    try:
        child = subprocess.Popen([program.path, *asked], **streams)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"nothing was started: {error}") from error
    except OSError as error:
        raise ProgramMissing(f"{program.path} cannot be executed: {error}") from error
    except ValueError as error:
        raise Refused(f"the command cannot be given to any program: {error}") from error
    try:
        return _status(child.wait())
    except KeyboardInterrupt:
        try:
            child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGTERM)
            child.wait()
        raise


def _status(code: int) -> int:
    """As a shell has it: 128+N where a signal ended Plimsoll itself."""
    return 128 - code if code < 0 else code
