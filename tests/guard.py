#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a test or a bench; all processes that it started end with it.

    guard.py COMMAND...    run COMMAND; exits with its status
    guard.py --left DIR    list processes of the build in DIR, or of its tests; exits 1 if any

All descendants are killed when COMMAND ends, when it is killed, and when the guard is: they
may have a session of their own or a parent that has exited. A COMMAND that succeeds and
leaves a process behind fails: the guard names the process and exits 1.

Two guards watch each other. Each is a child subreaper, so that it inherits orphans
(PR_SET_CHILD_SUBREAPER). The inner guard gets SIGTERM if the outer one is killed.
"""
import contextlib
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# For children of COMMAND that are about to exit when it does.
GRACE_S = float(os.environ.get("TW_GUARD_GRACE_S", "10"))
LIBC = ctypes.CDLL(None, use_errno=True)


def processes():
    """(pid, parent) of all processes that are not zombies."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                state, parent = f.read().rsplit(b")", 1)[1].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in (b"Z", b"X"):
            yield int(name), int(parent)


def descendants(top):
    children = {}
    for pid, parent in processes():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [top]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    except (FileNotFoundError, ProcessLookupError):
        return "?"


def reap():
    """Reap children that have exited; false if there are no children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    except ChildProcessError:
        return False


def end_all(grace_s):
    """Kill all descendants; the names of those that did not exit within the grace."""
    until = time.monotonic() + grace_s
    while reap() and time.monotonic() < until:
        time.sleep(0.01)
    left = [f"{pid}: {name_of(pid)}" for pid in descendants(os.getpid())]
    while reap():
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    return left


def watch(child):
    """Wait until the child ends, then end the rest. Return an exit status as a shell does."""
    def stop(number, _):
        end_all(0)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    # COMMAND gets Ctrl-C, too, and ends by it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            break
    code = os.waitstatus_to_exitcode(status)
    left = end_all(GRACE_S if code == 0 else 0)
    for line in left:
        print(f"guard: left running, killed: {line}", file=sys.stderr, flush=True)
    return code if code > 0 else 128 - code if code < 0 else int(bool(left))


def fork_watched():
    """In the child: None. In the parent: the status once the child has ended."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        return None
    return watch(child)


def run(command):
    outer = os.getpid()
    status = fork_watched()
    if status is not None:
        return status
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != outer:
        return 1
    status = fork_watched()
    if status is not None:
        os._exit(status)
    try:
        os.execvp(command[0], command)
    except OSError as e:
        print(f"guard: {command[0]}: {e.strerror}", file=sys.stderr)
        os._exit(127)


def is_of_build(pid, folder):
    """Whether its program is below the folder, or a test of that build started it (TW_BIN)."""
    try:
        if os.readlink(f"/proc/{pid}/exe").startswith(folder + "/"):
            return True
        with open(f"/proc/{pid}/environ", "rb") as f:
            values = f.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(v == b"TW_BIN=" + folder.encode() or
               v.startswith(b"TW_BIN=" + folder.encode() + b"/") for v in values)


def list_left(folder):
    folder = os.path.realpath(folder)
    left = [pid for pid, _ in processes() if pid != os.getpid() and is_of_build(pid, folder)]
    for pid in left:
        print(f"left running: {pid}: {name_of(pid)}")
    return 1 if left else 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--left":
        sys.exit(list_left(sys.argv[2]))
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
