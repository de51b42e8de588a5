"""Plimsoll from Python: what tasks really use, and what to ask for next time.

A thin layer over the program `plimsoll`, which has to be installed as well. In a Snakefile:

    rule align:
        resources:
            mem_mb=lambda wildcards, attempt: plimsoll.advise("align").memory_mb(attempt, default=4000),
            runtime=lambda wildcards, attempt: plimsoll.advise("align").runtime(attempt, default=60),

and elsewhere:

    >>> status, report = run(["sleep", "0"])
    >>> status, report.wall_time.unit
    (0, 'ns')

Amounts are in base units: bytes, nanoseconds, cores. What is not known is None or `Absent`, never 0.
Each error is an `Error` that says what is wrong and what to do.
"""

from .advice import Advice, Paste, ResourceAdvice, Waste, advise
from .amount import Absent, Amount, Field, Fields
from .history import Attempt, Attempts, attempts, frame
from .datasets import Rows, query
from .errors import (
    ArchiveError,
    ArchiveWarning,
    Error,
    NotFound,
    PandasMissing,
    ProgramMissing,
    ProgramUnfit,
    Refused,
    ReportError,
    RunError,
)
from .program import Program, find
from .reporting import Claim, Evidence, Exceeded, Exit, Report, report, reports
from .running import Run, run
from .statistics import Bar, ResourceStatistics, Statistics, stats
from .causes import Cause, Fact, Request, Why, why

__version__ = "0.1.0"

__all__ = [
    "Absent",
    "Advice",
    "Amount",
    "ArchiveError",
    "ArchiveWarning",
    "Attempt",
    "Attempts",
    "Bar",
    "Cause",
    "Claim",
    "Error",
    "Evidence",
    "Exceeded",
    "Exit",
    "Fact",
    "Field",
    "Fields",
    "NotFound",
    "PandasMissing",
    "Paste",
    "Program",
    "ProgramMissing",
    "ProgramUnfit",
    "Refused",
    "Report",
    "ReportError",
    "Request",
    "ResourceAdvice",
    "ResourceStatistics",
    "Rows",
    "Run",
    "RunError",
    "Statistics",
    "Waste",
    "Why",
    "advise",
    "attempts",
    "find",
    "frame",
    "query",
    "report",
    "reports",
    "run",
    "stats",
    "why",
]
