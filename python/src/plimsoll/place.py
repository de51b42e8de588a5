"""Where the archive is that is meant where none is named."""

from __future__ import annotations

import os

from .errors import ArchiveError


def usual() -> str:
    """`$XDG_DATA_HOME/plimsoll/archive`, else `~/.local/share/plimsoll/archive`."""
    data, home = os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME", "")
    # A relative path is no such folder, says the specification of these.
    if not os.path.isabs(data):
        if not os.path.isabs(home):
            raise ArchiveError("neither XDG_DATA_HOME nor HOME is set: archive= says where the archive is")
        data = os.path.join(home, ".local", "share")
    return os.path.join(data, "plimsoll", "archive")
