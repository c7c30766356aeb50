"""The shared part of the trials of the packages: steps, waits, and Debian roots."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
CACHE = TOP / ".build" / "try"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# The timeout in seconds for every wait.
PATIENCE = 180
# What an installation needs besides the package, and what an administrator has.
MINIMAL = "ca-certificates,curl"


class Broken(Exception):
    """The package does not do what it should."""


def say(text):
    print(text, flush=True)


def expect(condition, text):
    if not condition:
        raise Broken(text)


def run(*command, **options):
    """Runs a command, and returns its output. Raises an error with the output if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Broken(f"{' '.join(map(str, command))[-300:]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Broken(f"this did not happen within {PATIENCE} s: {what}")
        time.sleep(0.05)


@contextlib.contextmanager
def timed(what):
    began = time.monotonic()
    yield
    say(f"  {what}: {time.monotonic() - began:.1f} s")


def make_root(name, extend):
    """Returns a Debian root from the cache, which `extend` makes if it is missing."""
    root = CACHE / name
    if not (root / "etc/debian_version").exists():
        part = CACHE / f"{name}.part"
        remove(part)
        CACHE.mkdir(parents=True, exist_ok=True)
        with timed(f"Debian root '{name}' made"):
            extend(part)
        part.rename(root)
    return root


def remove(root):
    # A mount that was left by an interrupted run must not be emptied.
    for line in open("/proc/self/mounts"):
        expect(not line.split()[1].startswith(f"{root}/"), f"{line.split()[1]} is mounted; unmount it")
    shutil.rmtree(root, ignore_errors=True)


def minimal_root():
    return make_root(
        "minimal",
        lambda part: run("debootstrap", "--variant=minbase", f"--include={MINIMAL}", "bookworm", str(part), MIRROR),
    )
