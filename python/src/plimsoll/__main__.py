"""`python -m plimsoll`: the versions of this package and of the program, and where that is."""

import sys

from . import Error, __version__, find


def main() -> int:
    """Prints them; 1 where there is no program that will do."""
    print(f"plimsoll for Python {__version__}, Python {sys.version.split()[0]}")
    try:
        program = find()
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    print(f"plimsoll {program.version}: {program.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
