"""Makes the Python environment that holds the real readers of our formats, once.

    python3 environment.py FOLDER [REQUIREMENTS]

FOLDER is made anew whenever the pinned packages change: those of the file REQUIREMENTS, if one is
named. Prints nothing if it is ready. Otherwise
the last line says why it cannot be had, and the exit status is 3; for ten minutes it is not tried
again, as a machine without network has none a moment later.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The second without what they depend on.
REQUIREMENTS = [os.path.join(HERE, name) for name in ("requirements.txt", "requirements-alone.txt")]
SECONDS = 400
SECONDS_BEFORE_RETRY = 600


class Unavailable(Exception):
    pass


def unavailable(why):
    print(why)
    sys.exit(3)


def content(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def wanted(requirements):
    """What a ready environment was made from."""
    digest = hashlib.sha256(sys.version.encode())
    for name in requirements:
        with open(name, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def run(words, what):
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{what}: no end after {SECONDS} s")
    if done.returncode != 0:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        raise Unavailable(f"{what}: {errors[-1][:200]}")


def make(folder, requirements):
    shutil.rmtree(folder, ignore_errors=True)
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise Unavailable("python3 has no venv (package python3-venv)")
    run([sys.executable, "-m", "venv", folder], "python3 -m venv")
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    pip += ["--retries", "1"]
    for name, alone in zip(requirements, ([], ["--no-deps"])):
        run(pip + alone + ["-r", name], f"pip install of {name}")


def main(folder, requirements):
    parent = os.path.dirname(os.path.abspath(folder))
    try:
        os.makedirs(parent, exist_ok=True)
        lock = open(folder.rstrip("/") + ".lock", "w")
    except OSError as error:
        unavailable(f"no place for the readers: {error.strerror}")
    # Tests of several programs want it at once.
    fcntl.flock(lock, fcntl.LOCK_EX)
    mark, refusal = os.path.join(folder, "made-from"), folder.rstrip("/") + ".unavailable"
    made_from = wanted(requirements)
    if content(mark) == made_from:
        return
    digest, _, why = content(refusal).partition("\n")
    if digest == made_from and time.time() - os.path.getmtime(refusal) < SECONDS_BEFORE_RETRY:
        unavailable(why)
    try:
        make(folder, requirements)
    except Unavailable as reason:
        with open(refusal, "w") as file:
            file.write(f"{made_from}\n{reason}")
        unavailable(str(reason))
    with open(mark, "w") as file:
        file.write(made_from)


main(sys.argv[1], sys.argv[2:] or REQUIREMENTS)
