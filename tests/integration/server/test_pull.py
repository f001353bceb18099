# SPDX-License-Identifier: Apache-2.0
"""Pipelines that tw-server pulls from elsewhere, and every trouble on the way."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import unittest

from harness import BIN, ROOT, TIMEOUT_S, Case, call, content, need, need_fleet, shared, tree, wait_until
from served_files import Files, Served
from test_publish import has_sodium, pipeline_files, zip_of

MODELS = os.path.join(ROOT, "model-db/models")
REQUEST = {"metrics": ["cpu_cycles", "cpu_instructions", "cache_miss"],
           "output_type": "AbsPower", "weight": True}


def setUpModule():
    need_fleet()


def without(files, part):
    return {n: d for n, d in files.items() if part not in n}


def versioned(files, version):
    """The files of pipeline p with a manifest of this version."""
    listed = {n: {"size": len(d), "sha256": hashlib.sha256(d).hexdigest()}
              for n, d in files.items()}
    return dict(files, **{"manifest.json": json.dumps({
        "format_version": 1, "creator": "t", "pipeline": "p", "version": version,
        "files": listed}).encode()})


class PullCase(Case):
    def setUp(self):
        super().setUp()
        self.files = Files()
        self.addCleanup(self.files.close)
        self.good = pipeline_files()
        self.zip = zip_of(self.good)
        os.mkdir(self.path("db"))

    def offer(self, path="/p.zip", data=None, **more):
        self.files.at[path] = Served(self.zip if data is None else data, **more)
        return self.files.url(path)

    def serve(self, *args, db="db"):
        return self.start_http("tw-server", "--model-db", self.path(db), *args)

    def pull(self, *urls, args=()):
        return self.serve(*[f"--pull={u}" for u in urls], *args)

    def names(self, server):
        return [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]

    def served(self, server, *names):
        wait_until(lambda: self.names(server) == sorted(names), f"{names} are served")

    def metrics(self, server):
        """name -> {pipeline or (pipeline, third label): value} of what is pulled."""
        found = {}
        text = call(server, "GET", "/metrics").body.decode()
        for name, pipeline, _, third, value in re.findall(
                r'^tw_pull_(\w+)\{pipeline="([^"]*)",from="([^"]*)"(?:,\w+="(\w+)")?\} (\S+)$',
                text, re.M):
            found.setdefault(name, {})[(pipeline, third) if third else pipeline] = float(value)
        return found

    def state(self, server, pipeline="p"):
        return [s for (p, s), v in self.metrics(server)["state"].items()
                if v == 1 and p == pipeline]

    def wait_state(self, server, state, pipeline="p"):
        wait_until(lambda: self.state(server, pipeline) == [state],
                   f"{pipeline} is {state}")

    def count(self, server, name, key="p"):
        return self.metrics(server)[name][key]

    def line(self, server, *texts):
        """The line of the log that has all of these."""
        def lines():
            return [l for l in server.log().splitlines() if all(t in l for t in texts)]
        wait_until(lines, f"a line with {texts} in the log")
        return lines()[0]


class Pulling(PullCase):
    # ---- as it should be ----

    def test_the_server_answers_at_once_and_serves_pulled_pipelines(self):
        hold = threading.Event()
        url = self.offer()
        self.files.at["/p.zip"].cut = 100
        self.files.at["/p.zip"].hold = hold
        server = self.pull(url)
        self.assertEqual(call(server, "GET", "/livez").status, 200)
        self.assertEqual(call(server, "POST", "/model", REQUEST).status, 503)
        wait_until(lambda: self.files.sent, "the download is under way")
        self.assertEqual(self.state(server), ["waiting"])
        self.files.at["/p.zip"].hold = None
        hold.set()
        self.served(server, "p")
        self.assertEqual(call(server, "POST", "/model", REQUEST).status, 200)
        self.assertEqual(content(self.path("db/p")), self.good)
        self.wait_state(server, "current")
        wait_until(lambda: os.listdir(self.path("db/.pull")) == ["p.json"], "only the state stays")

    def test_the_existing_pipeline_is_served_first_then_both(self):
        shutil.copytree(os.path.join(MODELS, "nx12-rapl"), self.path("db/local"))
        hold = threading.Event()
        url = self.offer()
        self.files.at["/p.zip"].hold = hold
        server = self.pull(url)
        self.assertEqual(self.names(server), ["local"])
        hold.set()
        self.served(server, "local", "p")

    def test_one_dead_source_keeps_no_other_from_loading(self):
        """One refuses, one is silent, one has nothing, one never ends, one is another's."""
        dead = Files()
        dead.close()
        silent = self.offer("/silent.zip")
        self.files.at["/silent.zip"].cut = 0
        self.files.at["/silent.zip"].hold = self.files.closing
        drip = self.offer("/drip.zip", endless=True)
        server = self.pull(dead.url("/dead.zip"), silent, self.files.url("/none.zip"), drip,
                           self.offer())
        self.served(server, "p")
        self.wait_state(server, "missing", "dead")
        self.wait_state(server, "missing", "none")
        self.assertEqual(self.state(server, "silent"), ["waiting"])
        self.assertEqual(self.state(server, "drip"), ["waiting"])
        self.line(server, "cannot pull a pipeline", "name=none", "answers 404: no such thing")
        self.line(server, "cannot pull a pipeline", "name=dead", "GET http://127.0.0.1")
        server.stop()  # at once, whatever is under way

    def test_names_sources_and_secrets(self):
        url = self.offer("/a/b.zip")
        server = self.pull("mine=" + url.replace("//", "//user:secret@") + "?token=secret", url)
        self.served(server, "b", "mine")
        self.assertNotIn("secret", server.log())
        self.assertNotIn("secret", call(server, "GET", "/metrics").body.decode())
        self.assertNotIn(b"secret", b"".join(tree(self.path("db/.pull")).values()))
        self.assertTrue(any("Authorization" in headers for _, headers in self.files.seen))

    def test_a_directory_and_a_zip_of_this_machine(self):
        path = self.write("z.zip", self.zip)
        server = self.pull("file://" + path, os.path.join(MODELS, "nx12-acpi"))
        self.served(server, "nx12-acpi", "z")
        self.assertEqual(content(self.path("db/nx12-acpi")),
                         content(os.path.join(MODELS, "nx12-acpi")))

    # ---- again ----

    def test_another_version_replaces_it_and_the_same_is_not_sent_again(self):
        server = self.pull(self.offer(), args=("--pull-refresh", "100ms"))
        self.served(server, "p")
        wait_until(lambda: self.count(server, "attempts_total") >= 3, "it is asked again")
        self.assertEqual(self.files.sent["/p.zip"], len(self.zip))
        self.assertEqual(self.count(server, "taken_total"), 1)
        self.offer(data=zip_of(without(self.good, "acpi")), etag='"2"')
        wait_until(lambda: self.count(server, "taken_total") == 2, "the other version")
        self.assertEqual(content(self.path("db/p")), without(self.good, "acpi"))
        self.assertEqual(content(self.path("db/.old-p")), self.good)
        # Another tag for the same bytes is no other version.
        self.offer(data=zip_of(without(self.good, "acpi")), etag='"3"')
        wait_until(lambda: self.files.seen[-1][1].get("If-None-Match") == '"3"', "tag 3")
        self.assertEqual(self.count(server, "taken_total"), 2)

    def test_a_signal_asks_at_once(self):
        server = self.pull(self.offer(), args=("--pull-refresh", "0"))
        self.served(server, "p")
        self.wait_state(server, "current")
        self.offer(data=zip_of(without(self.good, "acpi")), etag='"2"')
        server.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: self.count(server, "taken_total") == 2, "the other version")

    def test_the_last_good_copy_is_served_without_its_source(self):
        url = self.offer()
        server = self.pull(url)
        self.served(server, "p")
        self.wait_state(server, "current")
        server.stop()
        self.files.close()
        server = self.pull(url)
        self.assertEqual(self.names(server), ["p"])
        self.assertEqual(call(server, "POST", "/model", REQUEST).status, 200)
        self.wait_state(server, "kept")
        self.line(server, "serving the last good copy", "name=p")
        self.assertEqual(content(self.path("db/p")), self.good)

    def test_after_a_restart_only_what_changed_is_sent(self):
        url = self.offer()
        server = self.pull(url)
        self.wait_state(server, "current")
        server.stop()
        server = self.pull(url)
        self.wait_state(server, "current")
        self.assertEqual(self.files.seen[-1][1].get("If-None-Match"), '"1"')
        self.assertEqual(self.files.sent["/p.zip"], len(self.zip))
        # Taken away by hand: it is pulled again.
        server.stop()
        shutil.rmtree(self.path("db/p"))
        server = self.pull(url)
        self.served(server, "p")

    def test_foreign_and_rolled_back_pipelines_are_left_alone(self):
        shutil.copytree(os.path.join(MODELS, "nx12-rapl"), self.path("db/p"))
        before = tree(self.path("db/p"))
        server = self.pull(self.offer())
        self.wait_state(server, "local")
        self.line(server, "was not pulled", "name=p")
        self.assertEqual(tree(self.path("db/p")), before)
        self.assertEqual(self.files.seen, [])
        server.stop()
        shutil.rmtree(self.path("db"))
        os.mkdir(self.path("db"))
        server = self.pull(self.offer(), args=("--pull-refresh", "100ms"))
        self.served(server, "p")
        self.offer(data=zip_of(without(self.good, "acpi")), etag='"2"')
        wait_until(lambda: self.count(server, "taken_total") == 2, "the other version")
        self.tallywatt("rollback", "p", "--to", self.path("db"))
        self.wait_state(server, "local")
        self.assertEqual(content(self.path("db/p")), self.good)

    def test_a_directory_after_a_pull_that_failed_is_left_alone(self):
        os.mkdir(self.path("db/.lock"))
        server = self.pull(self.offer())
        self.line(server, "cannot pull a pipeline", ".lock")
        os.rmdir(self.path("db/.lock"))
        mine = shutil.copytree(os.path.join(MODELS, "nx12-acpi"), self.path("db/p"))
        server.proc.send_signal(signal.SIGHUP)
        self.wait_state(server, "local")
        self.assertEqual(tree(mine), tree(os.path.join(MODELS, "nx12-acpi")))

    # ---- cut off ----

    def test_a_download_that_was_cut_off_is_gone_on_with(self):
        url = self.offer()
        half = len(self.zip) // 2
        self.files.at["/p.zip"].cut = half
        server = self.pull(url)
        self.served(server, "p")
        self.assertEqual(self.files.seen[1][1]["Range"], f"bytes={half}-")
        self.assertEqual(self.files.seen[1][1]["If-Range"], '"1"')
        self.assertEqual(self.files.sent["/p.zip"], len(self.zip))
        self.line(server, "pipeline pulled", "resumed=yes")

    def kill_in_the_middle(self, **more):
        url = self.offer(**more)
        self.files.at["/p.zip"].cut = len(self.zip) // 2
        self.files.at["/p.zip"].hold = threading.Event()
        server = self.pull(url)

        def half():
            parts = [n for n in os.listdir(self.path("db/.pull")) if n.endswith(".part")] \
                if os.path.isdir(self.path("db/.pull")) else []
            return parts and os.path.getsize(self.path("db/.pull", parts[0])) > \
                len(self.zip) // 2
        wait_until(half, "half of it is on disk")
        server.stop(signal.SIGKILL)
        self.files.at["/p.zip"].hold.set()
        self.files.at["/p.zip"].hold = None
        return url

    def test_a_server_that_was_killed_goes_on_where_it_was(self):
        server = self.pull(self.kill_in_the_middle())
        self.served(server, "p")
        self.assertEqual(content(self.path("db/p")), self.good)
        self.assertEqual(self.files.sent["/p.zip"], len(self.zip))

    def test_a_changed_file_is_downloaded_from_the_start(self):
        url = self.kill_in_the_middle()
        self.offer(data=zip_of(without(self.good, "acpi")), etag='"2"')
        server = self.pull(url)
        self.served(server, "p")
        self.assertEqual(content(self.path("db/p")), without(self.good, "acpi"))

    def test_without_a_tag_it_is_begun_again(self):
        server = self.pull(self.kill_in_the_middle(etag=None))
        self.served(server, "p")
        self.assertNotIn("Range", self.files.seen[-1][1])
        self.assertEqual(content(self.path("db/p")), self.good)

    def test_parts_of_abandoned_downloads_are_removed(self):
        self.kill_in_the_middle()
        server = self.pull("other=" + self.offer("/other.zip"))
        self.served(server, "other")
        wait_until(lambda: os.listdir(self.path("db/.pull")) == ["other.json"], "no parts")

    # ---- hostile ----

    def refusals(self):
        good = self.good
        model = next(n for n in good if n.endswith(".zip"))
        yield "rubbish", b"<html>no</html>" * 9, "archive"
        yield "nothing", b"", "archive"
        yield "truncated", self.zip[:-1], "archive"
        yield "a bomb", zip_of({"metadata.json": bytes(50 << 20)}), "metadata.json"
        yield "upwards", zip_of({**good, "../x": b"x"}), "'..'"
        yield "no models", zip_of({"metadata.json": b"{\"creator\":\"x\"}"}), "no model"
        yield "two pipelines", zip_of({f"{d}/{n}": b for d in "ab" for n, b in good.items()
                                       if n != "metadata.json"}), "2 pipelines, want one"
        yield "a broken model", zip_of({**good, model: b"PK"}), model
        yield "a wrong digest", zip_of(self.with_wrong_digest()), "SHA-256"

    def with_wrong_digest(self):
        files = dict(self.good)
        files["manifest.json"] = json.dumps({"format_version": 1, "creator": "t", "files": {
            n: {"size": len(d), "sha256": "0" * 64} for n, d in self.good.items()}}).encode()
        return files

    def test_an_invalid_pipeline_is_rejected_once_with_its_reason(self):
        server = self.pull(self.offer(), args=("--pull-refresh", "50ms"))
        self.served(server, "p")
        self.wait_state(server, "current")
        before = tree(self.path("db/p"))
        for number, (what, data, reason) in enumerate(self.refusals()):
            with self.subTest(what):
                tag = f'"bad {number}"'
                self.offer(data=data, etag=tag)
                line = self.line(server, "refused a pipeline", reason)
                self.assertIn("serving the last good copy", line)
                # Asked again, told no more, not sent again.
                seen = len(self.files.seen)
                wait_until(lambda n=seen: len(self.files.seen) > n + 2, "asked again")
                self.assertEqual(self.files.seen[-1][1].get("If-None-Match"), tag)
                self.assertEqual(self.state(server), ["refused"])
                self.assertEqual(tree(self.path("db/p")), before)
                self.assertEqual(self.names(server), ["p"])
        self.assertEqual(len([l for l in server.log().splitlines() if "refused a" in l]),
                         number + 1)
        self.offer(etag='"good again"')
        self.wait_state(server, "current")

    def test_an_older_version_is_rejected_once_until_the_newer_one_is_removed(self):
        old = without(self.good, "acpi")
        older = zip_of(versioned(old, 1))
        server = self.pull(self.offer(data=zip_of(versioned(self.good, 2))),
                           args=("--pull-refresh", "50ms"))
        self.served(server, "p")
        self.wait_state(server, "current")
        before = self.files.sent["/p.zip"]
        self.offer(data=older, etag='"older"')
        self.line(server, "refused a pipeline, serving the last good copy",
                  "its version 1 is not newer than the published 2")
        seen = len(self.files.seen)
        wait_until(lambda: len(self.files.seen) > seen + 2, "asked again")
        self.assertEqual(self.files.sent["/p.zip"] - before, len(older))
        self.assertEqual(self.state(server), ["refused"])
        self.assertEqual(content(self.path("db/p")), self.good)
        shutil.rmtree(self.path("db/p"))
        self.wait_state(server, "current")
        self.assertEqual(content(self.path("db/p")), old)

    def test_oversized_and_endless_answers_are_given_up(self):
        self.offer(data=bytes((256 << 20) + 1))
        drip = self.offer("/drip.zip", endless=True, etag=None)
        os.mkdir(self.path("other"))
        self.line(self.serve(f"--pull={drip}", "--pull-timeout", "2s", db="other"),
                  "cannot pull a pipeline", "name=drip", "imed out")
        server = self.pull(self.files.url("/p.zip"))
        self.line(server, "refused a pipeline", "name=p", "over")
        wait_until(lambda: not [n for n in os.listdir(self.path("db/.pull")) if n[0] == "p"],
                   "nothing of it stays")

    def test_redirects_lead_only_to_the_web(self):
        self.write("secret", b"x")
        self.files.at["/file.zip"] = Served(b"", status=302,
                                            location="file://" + self.path("secret"))
        self.files.at["/p.zip"] = Served(b"", status=302, location=self.offer("/there.zip"))
        server = self.pull(self.files.url("/file.zip"), self.files.url("/p.zip"))
        self.served(server, "p")
        self.line(server, "name=file", "rotocol")

    def test_an_unwritable_database_is_reported(self):
        self.write("db2", b"")
        server = self.start_http("tw-server", "--model-db", self.path("db2"), "--pull",
                                 self.offer())
        self.line(server, "cannot pull a pipeline", "db2")

    # ---- signed ----

    def test_only_signed_pipelines_are_accepted_with_the_option(self):
        need("sodium", has_sodium())
        need("minisign", shutil.which("minisign"))
        for name in ("mine", "other"):
            subprocess.run(["minisign", "-G", "-W", "-p", self.path(name + ".pub"), "-s",
                            self.path(name + ".key")], check=True, stdout=subprocess.DEVNULL)
            self.tallywatt("publish", os.path.join(MODELS, "haswell-kind"), "--to",
                           self.path("signed"), "--name", name, "--sign",
                           self.path(name + ".key"))
        urls = [self.offer("/none.zip"), *[self.offer(f"/{n}.zip", zip_of(tree(
            self.path("signed", n)))) for n in ("mine", "other")]]
        changed = dict(tree(self.path("signed/mine")), **{"metadata.json": b"{}"})
        urls.append(self.offer("/changed.zip", zip_of(changed)))
        server = self.pull(*urls, args=("--require-signature", "--public-key",
                                        self.path("mine.pub")))
        self.served(server, "mine")
        for name, why in (("none", "sign"), ("other", "key"), ("changed", "metadata.json")):
            self.wait_state(server, "refused", name)
            self.line(server, "refused a pipeline", f"name={name}", why)
        self.assertEqual(tree(self.path("db/mine")), tree(self.path("signed/mine")))

    # ---- kepler-model-server's ----

    def test_a_pipeline_of_kepler_model_server_becomes_ours(self):
        old = tree(shared("data/model-db/ec2-0.7.11"))
        url = self.offer("/v0.7/ec2-0.7.11.zip", zip_of(old))
        server = self.pull(url)
        self.served(server, "ec2-0.7.11")
        self.line(server, "pipeline pulled", "name=ec2-0.7.11", "models=42 kept=63")
        self.assertTrue(os.path.isdir(self.path("db/ec2-0.7.11/foreign")))


class OldKeys(PullCase):
    """What kepler-model-server's configuration pulls."""

    def with_keys(self, *args, **keys):
        os.environ.update(keys)
        try:
            return self.serve(*args)
        finally:
            for key in keys:
                del os.environ[key]

    def test_initial_pipeline_url_is_a_list(self):
        server = self.with_keys(INITIAL_PIPELINE_URL=f"{self.offer('/a.zip')},"
                                                     f" {self.offer('/b.zip')}")
        self.served(server, "a", "b")

    def test_model_topurl_is_where_names_are(self):
        self.offer("/top/std_v0.7.11.zip")
        self.offer("/top/x.zip")
        server = self.with_keys(MODEL_TOPURL=self.files.url("/top/"))
        self.served(server, "std_v0.7.11")
        server.stop()
        server = self.with_keys("--pull", "x", MODEL_TOPURL=self.files.url("/top"))
        self.served(server, "std_v0.7.11", "x")

    def test_a_file_goes_before_the_environment(self):
        os.mkdir(self.path("config"))
        self.write("config/INITIAL_PIPELINE_URL", self.offer() + "\n")
        server = self.with_keys(CONFIG_PATH=self.path("config"),
                                INITIAL_PIPELINE_URL=self.files.url("/none.zip"))
        self.served(server, "p")

    def test_an_invalid_source_is_rejected_at_the_start(self):
        for args, why in ((["--pull", "x"], "--pull-from is not set"),
                          (["--pull", "http://h/.."], "pipeline name"),
                          (["--pull", "http://h/a.zip,http://g/a.zip"], "NAME=URL"),
                          (["--pull-from", "ftp://h/"], "neither a URL")):
            with self.subTest(why):
                done = subprocess.run(
                    [os.path.join(BIN, "tw-server"), "--listen", "127.0.0.1:0", "--model-db",
                     self.path("db"), *args], check=False, stderr=subprocess.PIPE,
                    timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
