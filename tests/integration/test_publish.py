# SPDX-License-Identifier: Apache-2.0
"""Pipelines that are published: by the command, over HTTP, and what is refused."""
import base64
import ctypes
import fcntl
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest
import warnings
import zipfile

import answering
from harness import COUNTER_ONLY, GENERATED, LINEAR_TRAINERS, QUICK, ROOT, TIMEOUT_S, Case, \
    call, need, raw_call, read_json, run_tallywatt, tree, wait_until

MODELS = os.path.join(ROOT, "model-db/models")
PIPELINE = os.path.join(MODELS, "haswell-kind")
TOKEN = {"Authorization": "Bearer s3cret"}


def has_sodium():
    return b"libsodium: yes" in run_tallywatt("models", "--version").stdout


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def pipeline_files():
    return tree(PIPELINE)


def exchange_until(stop, a, b):
    """Exchange two directories again and again, as a publisher does."""
    libc = ctypes.CDLL(None)
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    while not stop.wait(0.005):
        libc.renameat2(here, a.encode(), here, b.encode(), exchange)


class Signatures(Case):
    def setUp(self):
        super().setUp()
        need("sodium", has_sodium())
        need("minisign", shutil.which("minisign"))
        for name in ("mine", "other"):
            subprocess.run(["minisign", "-G", "-W", "-p", self.path(name + ".pub"), "-s",
                            self.path(name + ".key")], check=True, stdout=subprocess.DEVNULL)

    def publish(self, *args):
        return self.tallywatt("publish", PIPELINE, "--to", self.path("db"), *args)

    def required(self, source, key="mine"):
        return ("publish", source, "--to", self.path("db2"), "--require-signature",
                "--public-key", self.path(key + ".pub"))

    def test_minisign_believes_us_and_we_believe_minisign(self):
        self.assertIn("signed=yes", self.publish("--sign", self.path("mine.key")))
        manifest = self.path("db/haswell-kind/manifest.json")
        subprocess.run(["minisign", "-V", "-p", self.path("mine.pub"), "-m", manifest],
                       check=True, stdout=subprocess.DEVNULL)
        self.tallywatt(*self.required(self.path("db/haswell-kind")))
        for how in ([], ["-l"]):
            os.unlink(manifest + ".minisig")
            subprocess.run(["minisign", "-S", *how, "-s", self.path("other.key"), "-m", manifest],
                           check=True, stdout=subprocess.DEVNULL)
            self.tallywatt(*self.required(self.path("db/haswell-kind"), "other"))

    def test_an_unknown_signature_is_rejected(self):
        self.assertIn("not signed", self.refused(*self.required(PIPELINE)))
        self.publish("--sign", self.path("other.key"))
        self.assertIn("signed by an unknown key: none of the 1 trusted keys",
                      self.refused(*self.required(self.path("db/haswell-kind"))))
        self.assertFalse(os.path.exists(self.path("db2")))

    def test_a_changed_manifest_and_a_changed_file_are_refused(self):
        self.publish("--sign", self.path("mine.key"))
        source = self.path("db/haswell-kind")
        with open(source + "/metadata.json", "r+b") as f:
            first = f.read(1)
            f.seek(0)
            f.write(b" " if first != b" " else b"{")
        self.assertIn("'metadata.json': its SHA-256 is not that of manifest.json",
                      self.refused(*self.required(source)))
        with open(source + "/manifest.json", "ab") as f:
            f.write(b"\n")
        self.assertIn("the signature does not match this file", self.refused(*self.required(source)))

    def test_nothing_is_parsed_before_the_signature(self):
        source = self.path("broken")
        os.mkdir(source)
        for name in ("metadata.json", "manifest.json"):
            with open(os.path.join(source, name), "w", encoding="ascii") as f:
                f.write("{" * 100000)
        self.assertIn("not signed", self.refused(*self.required(source)))

    def hide_key(self):
        """Give the key mine.key a password as minisign does, but at the least cost of scrypt:
        minisign's own takes 1 GiB and 3 s each time."""
        with open(self.path("mine.key"), encoding="ascii") as f:
            comment, text = f.read().splitlines()
        key = base64.b64decode(text)
        kind, number_and_key, salt = key[:2], key[54:126], bytes(range(32))
        clear = number_and_key + hashlib.blake2b(kind + number_and_key, digest_size=32).digest()
        stream = hashlib.scrypt(b"secret", salt=salt, n=1024, r=8, p=1, dklen=len(clear))
        costs = (32768).to_bytes(8, "little") + (16 << 20).to_bytes(8, "little")
        hidden = kind + b"ScB2" + salt + costs + bytes(a ^ b for a, b in zip(clear, stream))
        self.write("p.key", f"{comment}\n{base64.b64encode(hidden).decode()}\n")
        shutil.copy(self.path("mine.pub"), self.path("p.pub"))

    def test_a_key_with_a_password(self):
        self.hide_key()
        args = ("publish", PIPELINE, "--to", self.path("db"), "--sign", self.path("p.key"))
        self.assertIn("it has a password", self.refused(*args))
        self.write("wrong", "sesame\n")
        self.assertIn("wrong password",
                      self.refused(*args, "--sign-password-file", self.path("wrong")))
        self.write("right", "secret\n")
        if not QUICK:  # minisign's own
            subprocess.run(["minisign", "-G", "-f", "-p", self.path("p.pub"), "-s",
                            self.path("p.key")], input=b"secret\nsecret\n", check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.tallywatt(*args, "--sign-password-file", self.path("right"))
        self.tallywatt(*self.required(self.path("db/haswell-kind"), "p"))

    def sign(self, name="haswell-kind", key="mine", db="db"):
        """A signed pipeline's directory."""
        self.tallywatt("publish", PIPELINE, "--name", name, "--to", self.path(db), "--sign",
                       self.path(key + ".key"))
        return self.path(db, name)

    def serve(self, *args, keys=("mine",)):
        self.write("auth", "s3cret\n")
        return self.start_http("tw-server", "--model-db", self.path("served"), "--publish-auth",
                               self.path("auth"), "--require-signature",
                               *(a for k in keys for a in ("--public-key", self.path(k + ".pub"))),
                               *args)

    def test_another_name_and_an_older_version_are_refused(self):
        old = self.path("older")
        shutil.copytree(self.sign(), old)
        newer = self.sign()
        with open(newer + "/manifest.json", "rb") as f, open(old + "/manifest.json", "rb") as g:
            self.assertGreater(json.load(f)["version"], json.load(g)["version"])
        to = ("--to", self.path("db2"), "--name", "haswell-kind")
        self.assertIn("is of pipeline 'haswell-kind', not of 'mine'",
                      self.refused("publish", newer, "--to", self.path("db2"), "--name", "mine"))
        self.tallywatt("publish", newer, *to)
        self.assertIn("is not newer than the published", self.refused("publish", old, *to))
        self.tallywatt("publish", old, *to, "--allow-downgrade")
        # The previous version comes back only with a trusted signature.
        rollback = ("rollback", "haswell-kind", "--to", self.path("db2"), "--require-signature",
                    "--public-key")
        self.assertIn("unknown key", self.refused(*rollback, self.path("other.pub")))
        self.tallywatt(*rollback, self.path("mine.pub"))
        os.unlink(self.path("db2/.old-haswell-kind/manifest.json.minisig"))
        self.assertIn("not signed", self.refused(*rollback, self.path("mine.pub")))

    def test_a_signature_without_name_and_version_is_refused_where_one_is_required(self):
        source = self.sign()
        with open(source + "/manifest.json", encoding="utf-8") as f:
            manifest = json.load(f)
        del manifest["pipeline"], manifest["version"]
        with open(source + "/manifest.json", "w", encoding="utf-8") as f:
            json.dump(manifest, f)
        subprocess.run(["minisign", "-S", "-s", self.path("mine.key"), "-m",
                        source + "/manifest.json"], check=True, stdout=subprocess.DEVNULL)
        self.assertIn("has no pipeline and version: sign it again",
                      self.refused(*self.required(source)))
        self.tallywatt("publish", source, "--to", self.path("db2"), "--public-key",
                       self.path("mine.pub"))

    def test_the_server_serves_only_what_is_signed_and_listed(self):
        for name in ("good", "extra", "changed", "renamed"):
            self.sign(name, db="served")
        self.sign("stranger", key="other", db="served")
        self.tallywatt("publish", PIPELINE, "--name", "unsigned", "--to", self.path("served"))
        self.write("served/extra/notes.txt", "not in the manifest")
        with open(self.path("served/changed/metadata.json"), "r+b") as f:
            f.write(b" ")
        os.rename(self.path("served/renamed"), self.path("served/copy"))
        server = self.serve()
        names = [p["name"] for p in
                 call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]
        self.assertEqual(names, ["good"])
        for line in ("extra: manifest.json: 'notes.txt' is not listed", "unsigned: not signed",
                     "stranger: manifest.json.minisig: signed by an unknown key",
                     "copy: manifest.json is of pipeline 'renamed'",
                     "changed: 'metadata.json': its SHA-256"):
            self.assertIn(line, server.log())

    def test_the_server_takes_and_rolls_back_only_what_is_signed(self):
        old = self.path("older")
        shutil.copytree(self.sign("p"), old)
        newer = self.sign("p")
        server = self.serve()
        bodies = [zip_of(tree(d)) for d in (old, newer)]

        def put(name, body):
            return call(server, "PUT", f"/api/v1/pipelines/{name}", body, TOKEN)
        self.assertEqual([put("p", body).status for body in bodies], [200, 200])
        again = put("p", bodies[0])
        self.assertEqual(again.status, 403)
        self.assertIn("is not newer than the published", again.json()["detail"])
        other = put("q", bodies[1])
        self.assertEqual(other.status, 403)
        self.assertIn("is of pipeline 'p', not of 'q'", other.json()["detail"])
        self.assertFalse(os.path.exists(self.path("served/q")))
        # A rollback brings back an older version, because an administrator asks for it.
        os.rename(self.path("served/.old-p/manifest.json.minisig"), self.path("signature"))
        back = call(server, "POST", "/api/v1/pipelines/p/rollback", b"", TOKEN)
        self.assertEqual(back.status, 403)
        self.assertIn("not signed", back.json()["detail"])
        os.rename(self.path("signature"), self.path("served/.old-p/manifest.json.minisig"))
        self.assertEqual(call(server, "POST", "/api/v1/pipelines/p/rollback", b"", TOKEN).status,
                         200)

    def test_trainers_sign_what_a_strict_server_serves(self):
        trainer = self.start_http("tw-trainer", "--model-db", self.path("served"), "--sign",
                                  self.path("mine.key"))
        request = {"name": "trained", "energy_source": "rapl-sysfs",
                   "trainer": {"abs_trainers": LINEAR_TRAINERS, "dyn_trainers": [],
                               "isolator": "MinIdleIsolator", "isolator_args": {}},
                   "prom_response": read_json(GENERATED["0.7"])}
        for _ in range(2):
            self.assertEqual(call(trainer, "POST", "/train", request).status, 200)
        self.tallywatt("train", "--input", GENERATED["0.7"], "--name", "typed", "--trainers",
                       ",".join(LINEAR_TRAINERS), "--model-db", self.path("served"), "--sign",
                       self.path("mine.key"))
        server = self.serve()
        self.assertEqual([p["name"] for p in
                          call(server, "GET", "/api/v1/pipelines").json()["pipelines"]],
                         ["trained", "typed"])
        # A trainer adds nothing to models that it did not sign.
        os.unlink(self.path("served/trained/manifest.json.minisig"))
        answer = call(trainer, "POST", "/train", request)
        self.assertIn("cannot add to the published version: not signed", answer.json()["detail"])


class OverHttp(Case):
    def serve(self, *args):
        self.write("auth", "# who may\ns3cret\nbob:builder\n")
        os.makedirs(self.path("db"), exist_ok=True)
        return self.start_http("tw-server", "--model-db", self.path("db"), "--publish-auth",
                               self.path("auth"), *args)

    def put(self, server, body, name="p", headers=None):
        return call(server, "PUT", f"/api/v1/pipelines/{name}", body,
                    TOKEN if headers is None else headers)

    def names(self, server):
        return [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]

    def test_publishing_is_off_by_default(self):
        os.mkdir(self.path("db"))
        server = self.start_http("tw-server", "--model-db", self.path("db"))
        answer = self.put(server, b"x")
        self.assertEqual(answer.status, 403)
        self.assertIn("publishing is off", answer.json()["detail"])

    def test_token_and_password_open_it_and_nothing_else(self):
        server = self.serve()
        basic = base64.b64encode(b"bob:builder").decode()
        body = zip_of(pipeline_files())
        for headers, status in (({}, 401), ({"Authorization": "Bearer s3cre"}, 403),
                                ({"Authorization": "Bearer s3cret2"}, 403),
                                ({"Authorization": "Bearer bob:builder"}, 403),
                                ({"Authorization": "Basic ????"}, 403),
                                (TOKEN, 200), ({"Authorization": "Basic " + basic}, 200)):
            self.assertEqual(self.put(server, body, headers=headers).status, status, headers)

    def test_a_denied_client_is_answered_before_the_body(self):
        server = self.serve()
        answer = raw_call(server, b"PUT /api/v1/pipelines/p HTTP/1.1\r\nHost: x\r\n"
                                  b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n" +
                                  b"x" * 1000)
        self.assertEqual(answer.status, 401)

    def test_a_pipeline_is_served_and_rolled_back(self):
        server = self.serve()
        files = pipeline_files()
        answer = self.put(server, zip_of(files))
        self.assertEqual((answer.status, answer.json()["models"]), (200, 50), answer.body)
        wait_until(lambda: self.names(server) == ["p"], "the pipeline is served")
        self.assertEqual(call(server, "POST", "/api/v1/pipelines/p/rollback", b"",
                              TOKEN).status, 404)
        less = {n: d for n, d in files.items() if not n.startswith("acpi/")}
        self.assertLess(self.put(server, zip_of(less)).json()["models"], 50)
        self.assertEqual(call(server, "POST", "/api/v1/pipelines/p/rollback", b"",
                              TOKEN).status, 200)
        self.assertTrue(os.path.isdir(self.path("db/p/acpi")))

    def test_the_command_publishes_and_rolls_back_over_http(self):
        server = self.serve()
        self.write("token", "s3cret\n")
        url = "http://" + server.address
        to = ("--to", url, "--token-file", self.path("token"))
        self.assertIn("models=50", self.tallywatt("publish", PIPELINE, *to))
        wait_until(lambda: self.names(server) == ["haswell-kind"], "the pipeline is served")
        self.tallywatt("publish", PIPELINE, *to)
        self.assertIn("there is no previous version",
                      self.refused("rollback", "haswell-kind", *to))
        less = shutil.copytree(PIPELINE, self.path("less/haswell-kind"),
                               ignore=shutil.ignore_patterns("acpi"))
        self.tallywatt("publish", less, *to)
        self.tallywatt("publish", less, *to)
        self.tallywatt("rollback", "haswell-kind", *to)
        self.assertTrue(os.path.isdir(self.path("db/haswell-kind/acpi")))
        self.assertIn("answers 404", self.refused("rollback", "other", *to))
        self.assertIn("answers 401", self.refused("publish", PIPELINE, "--to", url))

    def test_a_page_that_answers_for_the_server_took_nothing(self):
        """A proxy's log-in, with 200 to all that it is asked, and a server of other pipelines."""
        for body in (b"<html>log in</html>", b"{}", b'{"pipeline":"other"}', b"", b"[1]"):
            page = self.page(body)
            for command in ("publish", PIPELINE), ("rollback", "haswell-kind"):
                self.assertIn("is no tw-server", self.refused(*command, "--to", page))

    def page(self, body):
        class Page(answering.Handler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(body)

            do_PUT = do_POST
        return answering.serve(self, Page)

    def test_a_zip_and_its_tag_are_of_one_version_while_versions_change(self):
        server = self.serve()
        first = pipeline_files()
        second = {n: d + b" " if n.endswith(".json") else d for n, d in first.items()}
        for files in (first, second):
            self.assertEqual(self.put(server, zip_of(files)).status, 200)
        wait_until(lambda: call(server, "GET", "/api/v1/pipelines/p/zip").status == 200,
                   "the pipeline is loaded")
        stop = threading.Event()
        changing = threading.Thread(target=exchange_until, args=(
            stop, self.path("db/p"), self.path("db/.old-p")))
        changing.start()
        try:
            for _ in range(40):
                answer = call(server, "GET", "/api/v1/pipelines/p/zip")
                self.assertEqual(answer.status, 200, answer.body[:200])
                with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
                    files = {n: z.read(n) for n in z.namelist()}
                manifest = files.pop("manifest.json")
                self.assertIn(files, (first, second))
                self.assertEqual(answer.headers["ETag"][1:33],
                                 hashlib.sha256(manifest).hexdigest()[:32])
        finally:
            stop.set()
            changing.join()

    def test_no_pipeline_replaces_the_prior(self):
        shutil.copytree(os.path.join(MODELS, "machines"), self.path("db/machines"))
        prior = tree(self.path("db/machines"))
        server = self.serve()
        answer = self.put(server, zip_of(pipeline_files()), "machines")
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json()["detail"], "pipeline name 'machines': a database has its "
                         "prior there; take another name")
        self.assertIn("'machines': a database has its prior there", self.refused(
            "publish", PIPELINE, "--name", "machines", "--to", self.path("db")))
        self.assertEqual(tree(self.path("db/machines")), prior)

    def refusals(self):
        good = pipeline_files()
        model = next(n for n in good if n.endswith(".zip"))
        whole = zip_of(good)
        twice = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(twice, "w") as z:
            warnings.simplefilter("ignore")
            for _ in range(2):
                z.writestr("metadata.json", b"{}")
        link = io.BytesIO()
        with zipfile.ZipFile(link, "w") as z:
            info = zipfile.ZipInfo("metadata.json")
            info.create_system, info.external_attr = 3, 0o120777 << 16
            z.writestr(info, "/etc/passwd")
        many = io.BytesIO()
        with zipfile.ZipFile(many, "w") as z:
            for i in range(100000):
                z.writestr(f"f{i}", b"")
        with zipfile.ZipFile(dense := io.BytesIO(), "w") as z:
            for i in range(60001):
                z.writestr(f"f{i}", b"")
        yield "60,001 entries", dense.getvalue(), "20000"
        yield "no zip", b"x" * 100, "archive"
        yield "nothing", b"", "archive"
        yield "truncated", whole[:len(whole) // 2], "archive"
        yield "cut by a byte", whole[:-1], "archive"
        yield "bomb", zip_of({"metadata.json": bytes(50 << 20)}), "metadata.json"
        yield "upwards", zip_of({**good, "../x": b"x"}), "'..'"
        yield "absolute", zip_of({**good, "/etc/x": b"x"}), "archive member"
        yield "link", link.getvalue(), "metadata.json"
        yield "twice", twice.getvalue(), "two members have the same name"
        yield "case twins", zip_of({**good, "METADATA.json": b"{}"}), "only in the case"
        yield "100,000 entries", many.getvalue(), "100000 members, limit is 20000"
        yield "no models", zip_of({"metadata.json": b"{}"}), "no model"
        yield "no metadata", zip_of({n: d for n, d in good.items() if n != "metadata.json"}), \
            "no metadata.json"
        yield "broken model", zip_of({**good, model: b"PK"}), model
        yield "misplaced", zip_of({**good, model.replace("/", "/x", 1): good[model]}), \
            "it belongs at"
        yield "lying manifest", zip_of({**good, "manifest.json": b'{"format_version":1,"files":{}}'}), \
            "is not listed"

    def test_an_invalid_pipeline_is_rejected_and_the_old_stays(self):
        server = self.serve()
        self.assertEqual(self.put(server, zip_of(pipeline_files())).status, 200)
        before = tree(self.path("db"))
        for what, body, reason in self.refusals():
            with self.subTest(what):
                answer = self.put(server, body)
                self.assertEqual(answer.status, 400, answer.body)
                self.assertIn(reason, answer.json()["detail"])
                self.assertEqual(tree(self.path("db")), before)
        for name in ("..", ".x", "a%2Fb", "a%00b", "x" * 200):
            self.assertIn(self.put(server, b"x", name=name).status, (400, 404), name)
        self.assertEqual(tree(self.path("db")), before)

    def test_requests_are_answered_while_pipelines_come(self):
        server = self.serve()
        body = zip_of(pipeline_files())
        self.put(server, body)
        wait_until(lambda: self.names(server) == ["p"], "the pipeline is served")
        failed, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                if self.names(server) != ["p"]:
                    failed.append(1)
        thread = threading.Thread(target=ask)
        thread.start()
        for _ in range(20):
            self.assertEqual(self.put(server, body).status, 200)
        stop.set()
        thread.join()
        self.assertEqual(failed, [])

    def ask_while(self, server, thread):
        """Requests of all kinds until the thread has ended, at least 100 of them."""
        asked = 0
        while thread.is_alive() or asked < 100:
            self.assertEqual(self.names(server), ["p"])
            answer = call(server, "POST", "/model", {"metrics": COUNTER_ONLY,
                                                     "output_type": "AbsPower"})
            self.assertEqual(answer.status, 200)
            asked += 1

    def test_one_thread_answers_while_a_pipeline_waits_for_its_turn(self):
        server = self.serve("--threads", "1")
        body = zip_of(pipeline_files())
        self.put(server, body)
        wait_until(lambda: self.names(server) == ["p"], "the pipeline is served")
        statuses = []

        def put():
            statuses.append(self.put(server, body).status)
        with open(self.path("db/.lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            threads = [threading.Thread(target=put) for _ in range(3)]
            for thread in threads:
                thread.start()
            for _ in range(100):
                self.assertEqual(self.names(server), ["p"])
            self.assertEqual(statuses, [])
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 3)

    def test_one_thread_answers_while_a_large_pipeline_is_checked(self):
        server = self.serve("--threads", "1")
        files = pipeline_files()
        self.put(server, zip_of(files))
        wait_until(lambda: self.names(server) == ["p"], "the pipeline is served")
        # Texts that must be unpacked, hashed and written, and a model that is none.
        for i in range(400):
            files[f"notes/{i}.txt"] = os.urandom(20000).hex().encode()
        last = max(n for n in files if n.endswith(".zip"))
        for more, status in (({}, 200), ({last: b"PK"}, 400)):
            statuses = []
            body = zip_of({**files, **more})
            thread = threading.Thread(
                target=lambda b=body, s=statuses: s.append(self.put(server, b).status))
            thread.start()
            self.ask_while(server, thread)
            thread.join()
            self.assertEqual(statuses, [status])

    def test_a_server_killed_while_it_publishes_leaves_a_whole_version(self):
        body = zip_of(pipeline_files())
        server = self.serve()
        self.assertEqual(self.put(server, body).status, 200)
        want = tree(self.path("db/p"))
        for round_ in range(8):
            started = threading.Event()

            def put(daemon, started=started):
                started.set()
                try:
                    while True:
                        self.put(daemon, body)
                except OSError:
                    pass
            thread = threading.Thread(target=put, args=(server,))
            thread.start()
            started.wait(TIMEOUT_S)
            wait_until(lambda: any(n.startswith(".new-") for n in os.listdir(self.path("db"))),
                       "a publisher at work")
            server.stop(signal.SIGKILL)
            thread.join()
            self.assertEqual(tree(self.path("db/p")), want, round_)
            server = self.serve()
            wait_until(lambda s=server: self.names(s) == ["p"], "the pipeline is served")


class DiskFull(Case):
    def test_a_full_disk_leaves_the_old_version(self):
        small = self.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", small],
                                 check=False, stderr=subprocess.DEVNULL).returncode == 0
        need("mount", mounted)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        source = self.path("p")
        shutil.copytree(PIPELINE, source)
        for name in os.listdir(source):
            if name.startswith("acpi"):
                path = os.path.join(source, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        less = self.path("less")
        shutil.copytree(source, less)
        models = [os.path.join(d, n) for d, _, names in os.walk(less) for n in names
                  if n.endswith(".zip")]
        for path in sorted(models, key=os.path.getsize)[1:]:
            os.unlink(path)
        self.tallywatt("publish", less, "--name", "p", "--to", small)
        before = tree(small)
        with open(os.path.join(source, "big.csv"), "wb") as f:
            f.write(os.urandom(700 << 10))
        line = self.refused("publish", source, "--to", small)
        self.assertIn("No space left", line)
        self.assertEqual(tree(small), before)


if __name__ == "__main__":
    unittest.main()
