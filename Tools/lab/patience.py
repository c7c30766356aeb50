"""The bound on waiting: one for everything that a test waits for.

A wait ends when its state has come; it has no time of its own. `watch` ends a whole process whose state never comes, and
says where it waited. The bound is in seconds of a machine that does nothing else, so that it grows with the load: see
Tests/Support/TestSupport/Patience.swift, which counts in the same way for the tests in Swift."""

import os
import sys
import threading
import time
import traceback

# Only a hang reaches it: the longest test takes about a third of it. The variable is for the tests of the bound itself.
BOUND = float(os.environ.get("CARILLON_WAIT_BOUND", "300"))
# The exit status of a process that has waited for too long.
RAN_OUT = 75
# How often the watch looks. A process that was stopped for longer has not waited all this time.
PACE = 1


def load():
    """The threads that run or want to run, for each processor, on the average of the last minute; at least 1."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


class Patience:
    """How long something has waited, in seconds of an idle machine."""

    def __init__(self):
        self.last, self.spent = time.monotonic(), 0.0

    def is_exhausted(self):
        """Counts the time since the last call. It must be called every second or so."""
        now = time.monotonic()
        self.spent += min(now - self.last, 5 * PACE) / load()
        self.last = now
        return self.spent >= BOUND


def pace(seconds=0.01):
    """Pauses between two looks at a state, or between two actions of a slow peer. Nothing may depend on its length."""
    time.sleep(seconds)


def until(look, seconds=0.01):
    """Returns what `look` finds, as soon as it finds something."""
    while not (found := look()):
        pace(seconds)
    return found


class RanOut(Exception):
    """A state has not come."""


def find(what, look, seconds=0.02):
    """Returns what `look` finds, as soon as it finds something: for programs without a `watch`, which clean up when they
    have waited for too long."""
    patience = Patience()
    while not (found := look()):
        if patience.is_exhausted():
            raise RanOut(f"wait ran out: {what}")
        pace(seconds)
    return found


def print_stack(name, frame):
    print(f"{name}:", "".join(traceback.format_stack(frame)), file=sys.stderr)


def watch(last_words):
    """Ends this process when its patience is exhausted, after `last_words()`, with the stacks of all threads. The last
    line that it prints begins with "wait ran out", by which the tests tell a wait from a broken promise."""

    def look():
        patience = Patience()
        while not patience.is_exhausted():
            time.sleep(PACE)
        frames = sys._current_frames()
        waiting = frames[threading.main_thread().ident]
        try:
            print_stack("main thread", waiting)
            last_words()
            for thread, frame in frames.items():
                if thread not in (threading.get_ident(), threading.main_thread().ident):
                    print_stack(f"thread {thread}", frame)
        finally:
            place = traceback.extract_stack(waiting)
            # The frame of the caller's own file says more than that of a library in which it waits.
            own = next((f for f in reversed(place) if f.filename == place[0].filename), place[-1])
            print(f"wait ran out: {os.path.basename(own.filename)}:{own.lineno}: {own.line}", file=sys.stderr, flush=True)
            sys.stdout.flush()
            os._exit(RAN_OUT)

    threading.Thread(target=look, daemon=True).start()
