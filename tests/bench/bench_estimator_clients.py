# SPDX-License-Identifier: Apache-2.0
"""Latency of clients that behave, one that keeps its connection and one that connects anew
for each request, while others do not: connect and leave, half a request, a byte a second,
10 MB of brackets, answers that nobody reads, 200 at once, 100,000 rows at a time. Beside an
echo on a socket of its own that nobody disturbs: what the machine itself does to latency."""
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from bench import Goals, Scratch, Table, median, quick
from bench_estimator import (CLIENT_CORE, LINEAR, LOAD, SECONDS, SERVER_CORE, pin, request,
                             start_estimator, ask, stop)

P99_MS = 1.0
TURNS = quick(3, 1)
# Of clients that would fill a core: in the short form others run beside them.
PAUSE_S = quick(0, 0.002)


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s


def give_up(send, data):
    """Send to one who may hang up."""
    try:
        send(data)
        return True
    except OSError:
        return False


def connects(path, ended):
    for _ in range(10000):
        connect(path).close()
        if ended.is_set():
            return


def halves(path, ended):
    data = request(LINEAR, 10)
    while not ended.wait(PAUSE_S):
        with connect(path) as s:
            give_up(s.sendall, data[:len(data) // 2])


def slow(path, ended):
    clients = [connect(path) for _ in range(50)]
    data = request(LINEAR, 1)
    for byte in data:
        for s in clients:
            give_up(s.sendall, bytes([byte]))
        if ended.wait(quick(1, 0.01)):
            break
    for s in clients:
        s.close()


def brackets(path, ended):
    block = b"[" * 65536
    while not ended.wait(PAUSE_S):
        with connect(path) as s:
            for _ in range(10_000_000 // len(block)):
                if not give_up(s.sendall, block):
                    break


def unread(path, ended):
    data = request(LINEAR, 1) * 1000
    clients = [connect(path) for _ in range(8)]
    for s in clients:
        s.setblocking(False)
        give_up(s.send, data)
    ended.wait()
    for s in clients:
        s.close()


def many_at_once(path, ended):
    data = request(LINEAR, 1)
    while not ended.is_set():
        clients = [connect(path) for _ in range(200)]
        for s in clients:
            give_up(s.sendall, data)
        for s in clients:
            s.recv(4096)
            s.close()
        ended.wait(0.05)


def nobody(_, ended):
    ended.wait()


def huge(path, ended):
    """16 at a time, each on a connection of its own."""
    data = request(LINEAR, 100000)
    answers = [None] * 16

    def ask_for_all(i):
        while not ended.is_set():
            with connect(path) as s:
                if give_up(s.sendall, data):
                    answers[i] = s.makefile().readline()

    clients = [threading.Thread(target=ask_for_all, args=(i,), daemon=True) for i in range(16)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()


KINDS = (("nobody else", nobody), ("10,000 connects", connects), ("half a request", halves),
         ("a byte a second", slow), ("10 MB of [", brackets),
         ("1000 answers unread", unread), ("200 at once", many_at_once),
         ("100,000 rows", huge))


def behind():
    """On the clients' core, but behind the one who is measured: what is measured is the
    server, not the scheduler."""
    pin(CLIENT_CORE, 1)()
    os.setpriority(os.PRIO_PROCESS, 0, 19)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def counted(url):
    """Connections so far, and requests that were refused."""
    with urllib.request.urlopen(url) as f:
        lines = f.read().decode().splitlines()
    return [sum(float(line.split()[-1]) for line in lines if line.startswith(name))
            for name in ("tallywatt_estimator_connections_total",
                         "tallywatt_estimator_refused_total")]


def latency(path, connections, file, kind):
    """requests/s, p50 and p99 in us, requests."""
    out = subprocess.run([LOAD, "ask", path, str(connections), str(SECONDS), file, kind],
                         stdout=subprocess.PIPE, check=True,
                         preexec_fn=pin(CLIENT_CORE)).stdout
    return [float(v) for v in out.split()]


def measure(paths, kind, file, url):
    """p50 and p99 in us of the echo, of one connection and of connections anew; connections
    of the others and requests of theirs that were refused."""
    path, echo = paths
    before = None
    while before != (before := counted(url)):  # those who wait yet are the ones before's
        time.sleep(0.05)
    alone = latency(echo, 1, file, "echo")
    other = subprocess.Popen([sys.executable, __file__, kind, path], stdin=subprocess.PIPE,
                             preexec_fn=behind)
    until = time.monotonic() + 60
    while kind != "nobody else" and counted(url)[0] == before[0]:
        if time.monotonic() > until:
            sys.exit(f"{kind}: they do not come")
        time.sleep(0.01)
    kept = latency(path, 1, file, "line")
    anew = latency(path, 0, file, "line")
    others = [after - start for start, after in zip(before, counted(url))]
    other.stdin.close()
    other.wait()
    return (*alone[1:3], *kept[1:3], *anew[1:3], others[0] - 1 - anew[3], others[1])


def print_table(rows):
    print("us; all clients on one core, both servers on another; medians of "
          f"{TURNS} turns; what the others did")
    table = Table(("while", -20, ""), ("echo p50", 8, ".1f"), ("p99", 8, ".1f"),
                  ("kept p50", 8, ".1f"), ("p99", 8, ".1f"), ("anew p50", 8, ".1f"),
                  ("p99", 8, ".1f"), ("connections", 11, ".0f"), ("refused", 8, ".0f"))
    for name, runs in rows.items():
        m = [median(values) for values in zip(*runs)]
        table.row(name, *m)


def judge(rows):
    goals = Goals()
    for name, runs in rows.items():
        m = [median(values) for values in zip(*runs)]
        for what, p99 in (("kept", m[3]), ("anew", m[5])):
            goals.at_most(f"p99, connection {what}, while: {name} (an echo alone: "
                          f"{m[1] / 1000:.3f})", p99 / 1000, P99_MS, "ms")
    return goals


def main():
    with Scratch() as top:
        path, file = os.path.join(top, "estimator"), os.path.join(top, "request")
        echo_path = os.path.join(top, "echo")
        with open(file, "wb") as f:
            f.write(request(LINEAR, 1))
        port = free_port()
        estimator = start_estimator(path, "--metrics-listen", f"127.0.0.1:{port}")
        echo = subprocess.Popen([LOAD, "echo", echo_path], preexec_fn=pin(SERVER_CORE))
        try:
            assert ask(path, request(LINEAR, 1))["powers"]
            rows = {name: [] for name, _ in KINDS}
            for _ in range(TURNS):
                for name, _ in KINDS:
                    rows[name].append(measure((path, echo_path), name, file,
                                              f"http://127.0.0.1:{port}/metrics"))
        finally:
            stop(estimator)
            stop(echo)
    print_table(rows)
    judge(rows).exit()


def misbehave(name, path):
    """Until the one who started us closes our standard input."""
    ended = threading.Event()
    worker = threading.Thread(target=dict(KINDS)[name], args=(path, ended), daemon=True)
    worker.start()
    sys.stdin.read()
    ended.set()
    worker.join(5)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        misbehave(*sys.argv[1:])
    else:
        main()
