"""What can go wrong: one family, each error with what is wrong and what to do."""

from __future__ import annotations


class Error(Exception):
    """Of all errors of this package the base."""


class ProgramMissing(Error):
    """The program `plimsoll` is not there or cannot be executed."""


class ProgramUnfit(Error):
    """The program is not Plimsoll, too old, or was built without what was asked of it."""


class Refused(Error):
    """The program did not understand what it was asked: a value that is none, an unknown name."""


class ArchiveError(Error):
    """The archive cannot be read: it is damaged, of a later version, or not ours to read."""


class ArchiveWarning(UserWarning):
    """A file of the archive is damaged, and nothing in it is counted."""


class NotFound(Error):
    """There is no such report, or no such attempt in the archive."""


class ReportError(Error):
    """A file is no report of `plimsoll run`, or of another version of it."""


class RunError(Error):
    """`plimsoll run` could not do what was asked and started nothing."""


class PandasMissing(Error):
    """A data frame was asked for and pandas is not installed."""
