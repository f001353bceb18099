# SPDX-License-Identifier: Apache-2.0
"""tallywatt top: in a pipe and on a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import BIN, TIMEOUT_S, Case, call, run_tallywatt, sanitized, wait_until
from sources import free_port

ESCAPE = re.compile(r"\x1b\[[?0-9]*[A-Za-z]")


class Terminal:
    """tallywatt top on a terminal of its own."""

    def __init__(self, lines, columns, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(os.path.join(BIN, "tallywatt"), ["tallywatt", "top", *args])
        self.resize(lines, columns)
        self.text = ""

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys):
        self.text = ""
        os.write(self.fd, keys.encode())

    def see(self, pattern):
        """Read until it has shown this since the last key."""
        deadline = time.monotonic() + TIMEOUT_S
        while not re.search(pattern, self.text, re.S):
            readable, _, _ = select.select([self.fd], [], [], 0.1)
            if readable:
                try:
                    self.text += os.read(self.fd, 65536).decode()
                except OSError as e:
                    raise AssertionError(f"ended: {self.text!r}") from e
            elif time.monotonic() > deadline:
                raise AssertionError(f"not shown: {pattern}: {self.text!r}")

    def screen(self):
        """The lines of the last whole picture."""
        last = self.text[:self.text.rindex("\x1b[J")].rsplit("\x1b[H", 1)[-1]
        return [ESCAPE.sub("", line) for line in last.replace("\r", "").split("\n")]

    def end(self):
        """Its exit status, once it has ended; what it said until then is in text."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode()
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Top(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.start_http(
            "tw-collector", "--interval", "100ms", "--bpf", "off", "--user", "root",
            "--meters", "fake", *(["--filter=no"] if sanitized() else []))
        self.url = f"http://{self.daemon.address}"
        # Energy is a difference: it is told from the second tick on.
        wait_until(lambda: b"tallywatt_node_power_watts{" in
                   call(self.daemon, "GET", "/metrics").body, "its meter tells")

    def burn(self, name):
        """A process of this name that runs."""
        child = subprocess.Popen([name, "-c", "while :; do :; done"], executable="/bin/sh")
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child.pid

    def test_a_pipe_gets_pictures_one_after_the_other(self):
        pid = self.burn("burner")
        wait_until(lambda: f'pid="{pid}"'.encode() in call(self.daemon, "GET", "/metrics").body,
                   "the process is seen")
        out, pictures, rows = "", [], {}

        def has_power():
            """On a busy machine the process may not run between two pictures."""
            nonlocal out, pictures, rows
            # Long enough for ticks between two pictures.
            out = self.tallywatt("top", "--url", self.url, "-n", "3", "-d", "900ms")
            pictures = out.split("\n\n")
            self.assertEqual(len(pictures), 3)
            rows = {line.split()[0]: line.split() for line in pictures[2].splitlines()[7:]}
            return float(rows[str(pid)][1]) > 0 and float(rows[str(pid)][7]) > 1
        wait_until(has_power, "the process draws power")
        for picture in pictures:
            node, facts, course, summary, head, total, idle = picture.splitlines()[:7]
            self.assertRegex(node, r"^\S+: SIMULATED [0-9.]+ W: package [0-9.]+ W, core .* dram "
                                   r"[0-9.]+ W \(fake\)$")
            self.assertRegex(total, r"^total +[0-9.]+  SIMULATED$")
            self.assertRegex(idle, r"^idle +(-  not known yet|[0-9.]+  the machine)")
            self.assertRegex(facts, r"^simulated; idle (power not known yet|[0-9.]+ W); tick 0.1 s$")
            self.assertRegex(course, r"^power \S{1,3} [0-9.]+ to [0-9.]+ W in 0:0\d min$")
            self.assertRegex(summary, r"^process: \d+ by watts, mean of \d\.\d s; \+ ended$")
            self.assertRegex(head, "^ID +WATTS +IDLE +PACKAGE +DRAM +GPU +JOULES")
        listed = [float(r.split()[1]) for r in pictures[2].splitlines()[7:]
                  if r.split()[1] != "-"]
        self.assertEqual(listed, sorted(listed, reverse=True))
        for line in out.splitlines():
            self.assertNotIn("\x1b", line)

    def test_one_picture_or_a_line_of_json_is_printed(self):
        out = self.tallywatt("top", "--url", self.url, "--once", "--rows", "1")
        self.assertLessEqual(len(out.splitlines()), 8)
        lines = self.tallywatt("top", "--url", self.url, "--json", "-n", "2", "-d", "200ms",
                               "-l", "cgroup").splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            answers = json.loads(line)
            self.assertEqual(sorted(answers), ["node", "workloads"])
            for level, answer in (("node", "node"), ("cgroup", "workloads")):
                told = json.loads(call(self.daemon, "GET", f"/api/v1/power?level={level}").body)
                self.assertEqual(sorted(answers[answer]), sorted(told))

    def test_several_collectors_are_one_table_and_one_that_fails_is_named(self):
        other = self.start_http(
            "tw-collector", "--interval", "100ms", "--bpf", "off", "--user", "root", "--meters",
            "fake", "--node-name", "other", *(["--filter=no"] if sanitized() else []))
        # A workload has power from its second tick on.
        wait_until(lambda: json.loads(call(other, "GET", "/api/v1/power?level=process").body)
                   ["workloads"], "its processes have power")
        # A long interval is patience with each.
        urls = ("-d", "1m", "--url", self.url, "--url", f"http://{other.address}")
        out = self.tallywatt("top", *urls, "--once").splitlines()
        self.assertRegex(out[0], r"^2 nodes, SIMULATED [0-9.]+ W of 2: .* W, other [0-9.]+ W$")
        self.assertRegex(out[1], r"^\S+: simulated; .* \| other: simulated; ")
        self.assertRegex(out[4], "^NODE +ID +WATTS")
        self.assertEqual({line.split()[0] for line in out[7:]}, {os.uname().nodename[:10], "other"})
        # One that is asked twice counts once.
        out = self.tallywatt("top", *urls, "--url", self.url + "/", "--once").splitlines()
        self.assertRegex(out[0], "^2 nodes")
        self.assertIn("is the collector of another --url", out[3])
        told = json.loads(self.tallywatt("top", *urls, "--url", "http://127.0.0.1:1", "--once",
                                         "--json"))["collectors"]
        self.assertEqual(sorted(told[0]), ["node", "url", "workloads"])
        self.assertIn("127.0.0.1:1", told[2]["error"])
        out = self.tallywatt("top", *urls, "--url", "http://127.0.0.1:1", "--once").splitlines()
        self.assertRegex(out[0], "^2 nodes")
        self.assertRegex(out[3], "127.0.0.1:1.*connect")

    def test_a_terminal_without_colour_and_utf_8_is_readable(self):
        os.environ.update(NO_COLOR="1", LC_ALL="C")
        self.addCleanup(os.environ.pop, "NO_COLOR")
        self.addCleanup(os.environ.pop, "LC_ALL")
        top = Terminal(24, 80, "--url", self.url, "-d", "200ms")
        top.see(r"power [_.~=+*#-]{2,} [0-9.]+ to .*\x1b\[J")
        self.assertNotIn("\x1b[7m", top.text)
        self.assertTrue(all(len(line) <= 80 and line.isascii() for line in top.screen()))
        top.press("q")
        self.assertEqual(top.end(), 0)

    def test_levels_rows_and_order_are_chosen(self):
        out = self.tallywatt("top", "--url", self.url + "/", "-b", "-n1", "-l", "cgroup",
                             "-o", "name", "-r", "--rows", "1")
        self.assertIn("cgroup: ", out)
        self.assertIn(" by name (reverse)", out)
        self.assertLessEqual(len(out.splitlines()), 8)

    def test_a_terminal_is_drawn_resized_and_left_as_it_was(self):
        top = Terminal(12, 70, "--url", self.url, "-d", "300ms")
        top.see(r"process: \d+ by watts.*\x1b\[J")
        top.press("?")
        top.see(r"Keys: .*\x1b\[J")
        top.press("?")
        top.see(r"process: \d+ by watts.*\x1b\[J")
        self.assertLessEqual(len(top.screen()), 12)
        self.assertTrue(all(len(line) <= 70 for line in top.screen()), top.screen())
        self.assertNotIn("JOULES", top.text)
        top.press("g")
        top.see(r"cgroup: \d+ by watts.*\x1b\[J")
        top.press("s")
        top.see(r"cgroup: \d+ by cpu.*\x1b\[J")
        top.press("r")
        top.see(r"by cpu \(reverse\).*\x1b\[J")
        top.press("p")
        top.resize(8, 130)
        top.see(r"JOULES.*\x1b\[J")
        self.assertLessEqual(len(top.screen()), 8)
        top.press("\x1b[6~\x1b[6~")
        top.press("q")
        self.assertEqual(top.end(), 0)
        self.assertTrue(top.text.endswith("\x1b[?25h\x1b[?1049l"), top.text[-50:])

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        top = Terminal(12, 70, "--url", self.url, "-d", "300ms")
        top.see(r"process: ")
        os.kill(top.pid, signal.SIGTERM)
        self.assertEqual(top.end(), 0)
        self.assertTrue(top.text.endswith("\x1b[?25h\x1b[?1049l"))

    def test_an_exited_collector_is_reported_above_the_last_table(self):
        top = Terminal(12, 100, "--url", self.url, "-d", "200ms")
        top.see(r"package [0-9.]+ W")
        self.daemon.stop()
        top.see(r"Failed to connect|connect to")
        self.assertIn("package", top.screen()[0])
        top.press("q")
        self.assertEqual(top.end(), 0)

    def see_just_started(self):
        """What top says that is started before its collector."""
        # Its address is known before it starts; its second tick comes two seconds after.
        address = f"127.0.0.1:{free_port()}"
        args = [os.path.join(BIN, "tallywatt"), "top", "--url", f"http://{address}", "--once"]
        with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
            self.start("tw-collector", "--listen", address, "--interval", "1s", "--bpf", "off",
                       "--user", "root", "--meters", "fake",
                       *(["--filter=no"] if sanitized() else []))
            out, err = (text.decode() for text in top.communicate(timeout=TIMEOUT_S))
        return top.returncode, out + err

    def test_a_collector_that_was_just_started_is_waited_for(self):
        for _ in range(5):
            code, said = self.see_just_started()
            if code == 0 and "power not known" not in said:
                break
            print(f"AGAIN: {said}")  # a busy machine takes longer than top waits
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"^\S+: SIMULATED [0-9.]+ W: package [0-9.]+ W")

    def test_an_unreachable_collector_exits_1_and_wrong_use_2(self):
        self.assertIn("127.0.0.1:1", self.refused("top", "--url", "http://127.0.0.1:1", "-n1",
                                                  codes=(1,)))
        for args in (("-l", "rack"), ("-o", "colour"), ("-d", "1ms"), ("-x",), ("-n",)):
            self.assertEqual(run_tallywatt("top", *args).returncode, 2, args)


if __name__ == "__main__":
    unittest.main()
