# SPDX-License-Identifier: Apache-2.0
"""Where responses come from: a real Prometheus, exporters, and servers that misbehave."""
import contextlib
import http.server
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import answering
from harness import TIMEOUT_S, need, wait_until


# ---- responses -------------------------------------------------------------

def by_series(response):
    """{(metric, labels): [(time, value), ..]}, to compare two responses."""
    found = {}
    for metric, series in response.items():
        for s in series:
            # An empty label is none.
            labels = {k: v for k, v in s["metric"].items() if v and k != "__name__"}
            key = (metric, tuple(sorted(labels.items())))
            if key in found:
                raise AssertionError(f"series twice: {key}")
            found[key] = [(t, float(v)) for t, v in s["values"]]
    return found


def sample_line(metric, labels, value, time=None):
    text = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items()
                    if name != "__name__")
    return f"{metric}{{{text}}} {value}" + (f" {time}" if time is not None else "") + "\n"


def openmetrics(response):
    """All samples with their times, as `promtool tsdb create-blocks-from` wants them."""
    for metric in sorted(response):
        yield f"# TYPE {metric} unknown\n"
        for s in response[metric]:
            for time, value in s["values"]:
                yield sample_line(metric, s["metric"], value, time)
    yield "# EOF\n"


def by_exporter(response):
    """The response without what Prometheus adds, as the exporter itself tells it."""
    added = ("__name__", "container", "endpoint", "instance", "job", "namespace", "service")

    def own(labels):
        kept = {k: v for k, v in labels.items() if k not in added}
        if "exported_instance" in kept:
            kept["instance"] = kept.pop("exported_instance")
        return kept
    return {metric: [{"metric": own(s["metric"]), "values": s["values"]} for s in series]
            for metric, series in response.items()}


def text_at(response, time):
    """What an exporter tells at a time, in the text format."""
    lines = []
    for metric in sorted(response):
        lines.append(f"# TYPE {metric} untyped\n")
        for s in response[metric]:
            lines += [sample_line(metric, s["metric"], value)
                      for t, value in s["values"] if t == time]
    return "".join(lines)


# ---- servers in this process -----------------------------------------------

class Server:
    """An HTTP server whose answers a function gives: answer(request) -> None.

    `asked` has the path and headers of each request."""

    def __init__(self, case, answer, tls=None):
        self.asked = []
        outer = self

        class Handler(answering.Handler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer takes 40 ms

            def do_GET(self):
                outer.asked.append((self.path, dict(self.headers)))
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.httpd.handle_error = lambda *_: None  # clients that go away are wanted here
        if tls is not None:
            self.httpd.socket = tls.wrap_socket(self.httpd.socket, server_side=True)
        self.port = self.httpd.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        thread = threading.Thread(target=self.httpd.serve_forever, args=(0.01,))
        thread.start()
        case.addCleanup(self.stop, thread)

    def stop(self, thread):
        self.httpd.shutdown()
        thread.join()
        self.httpd.server_close()


def reply(request, body, status=200, content_type="application/json", **headers):
    body = body if isinstance(body, bytes) else body.encode()
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


# ---- Prometheus ------------------------------------------------------------

def free_port():
    """A port for later: the kernel gives those from 32768 on to any program that asks for one."""
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(10000, 32768)
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", port))
            return port


def need_prometheus():
    need("prometheus", shutil.which("prometheus") and shutil.which("promtool"))


def make_blocks(folder, response):
    """A Prometheus' data directory that has the samples of a response."""
    text, data = os.path.join(folder, "samples.txt"), os.path.join(folder, "data")
    with open(text, "w", encoding="utf-8") as f:
        f.writelines(openmetrics(response))
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text, data],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   timeout=TIMEOUT_S)
    os.unlink(text)
    return data


class Prometheus:
    """A real one on data that make_blocks() made, or that it scrapes as `scrape` says. May be
    killed and started again."""

    def __init__(self, case, data, web_config=None, scrape="global: {}\n", flags=()):
        self.log_file = case.path("prometheus.log")
        config = case.write("prometheus.yml", scrape)
        self.port = free_port()
        self.url = f"{'https' if web_config and 'tls' in web_config else 'http'}://" \
                   f"127.0.0.1:{self.port}"
        self.proc = None
        # The blocks have no markers of a series' end: what was not told for longer than
        # the generator's step has ended.
        self.command = ["prometheus", f"--config.file={config}",
                        f"--storage.tsdb.path={data}", "--query.lookback-delta=2s",
                        "--storage.tsdb.retention.time=100y", "--no-storage.tsdb.use-lockfile",
                        f"--web.listen-address=127.0.0.1:{self.port}", *flags]
        if web_config:
            path = case.write("web.yml", web_config)
            self.command.append(f"--web.config.file={path}")
        case.addCleanup(self.kill)
        self.start()

    def start(self):
        with open(self.log_file, "ab") as log:
            self.proc = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                         stderr=log, start_new_session=True)
        wait_until(self.ready, "Prometheus answers")

    def ready(self):
        if self.proc.poll() is not None:
            with open(self.log_file, encoding="utf-8") as f:
                raise AssertionError(f"Prometheus ended:\n{f.read()[-2000:]}")
        context = ssl._create_unverified_context() if self.url.startswith("https") else None
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5, context=context):
                return True
        except urllib.error.HTTPError as e:
            return e.code == 401  # it is there, and wants to know who asks
        except ssl.SSLError:
            return True  # and this asks with a certificate
        except urllib.error.URLError as e:
            return isinstance(e.reason, ssl.SSLError) and "CERTIFICATE" in str(e.reason)
        except OSError:
            return False

    def kill(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGKILL)
        self.proc.wait()
