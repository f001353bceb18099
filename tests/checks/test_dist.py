# SPDX-License-Identifier: Apache-2.0
"""make dist: the same bytes twice, the web pages, checksums, a bill of materials, a signature."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "MAKE"))},
               **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
                  (("NAME", "x"), ("EMAIL", "x@example"), ("DATE", "2026-11-20T12:00:00Z"))}}
REQUIRED = os.environ.get("TW_REQUIRE", "").split(",")


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout.decode()}")
    return done.stdout


class Dist(unittest.TestCase):
    def setUp(self):
        if shutil.which("git") is None or not os.path.exists(os.path.join(ROOT, ".git")):
            raise unittest.SkipTest("not a clone of git")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name

    def commit(self, sources):
        """Put the sources as they are now into a repository of their own."""
        listed = run(ROOT, "git", "ls-files", "-z", "-co", "--exclude-standard").decode().split("\0")
        for file in filter(None, listed):
            if os.path.lexists(os.path.join(ROOT, file)):
                os.makedirs(os.path.dirname(os.path.join(sources, file)), exist_ok=True)
                shutil.copy2(os.path.join(ROOT, file), os.path.join(sources, file), follow_symlinks=False)
        run(sources, "git", "init", "-q")
        run(sources, "git", "add", "-A", "-f")
        run(sources, "git", "commit", "-q", "--no-gpg-sign", "-m", "all")

    def path(self, *names):
        return os.path.join(self.top, *names)

    def pages(self):
        """Arguments by which the tarball has pages, of libraries that are there; npm is not called."""
        modules = os.environ.get("WEB_MODULES", "")
        if not os.path.exists(os.path.join(modules, ".package-lock.json")):
            if "web" in REQUIRED:
                raise AssertionError("TW_REQUIRE names 'web', whose libraries are missing")
            print("SKIPPED: the pages of the tarball: no libraries of theirs")
            return ["WEB=0"]
        return [f"WEB_MODULES={modules}", "NPM=false"]

    def dist(self, name, *more):
        out = self.path(name + "-out")
        run(self.path(name), "make", "-s", "dist", f"O={out}", "BPF=0", "XGBOOST=0", "LIBSVM=0", *more)
        found = {}
        for file in os.listdir(os.path.join(out, "dist")):
            with open(os.path.join(out, "dist", file), "rb") as f:
                found[file] = f.read()
        return found

    def key(self):
        """Arguments that sign; none without minisign."""
        if shutil.which("minisign") is None:
            if "minisign" in REQUIRED:
                raise AssertionError("TW_REQUIRE names 'minisign', which is missing")
            print("SKIPPED: the signature: no minisign")
            return []
        run(self.top, "minisign", "-G", "-W", "-p", "key.pub", "-s", "key")
        return [f"SIGN_KEY={self.path('key')}"]

    def test_two_clones_give_the_same_bytes_with_checksums_and_parts(self):
        self.commit(self.path("first"))
        os.mkdir(self.path("elsewhere"))
        run(self.top, "git", "clone", "-q", "--shared", "first", "elsewhere/second")
        key, pages = self.key(), self.pages()
        first, second = self.dist("first", *pages), self.dist("elsewhere/second", *pages, *key)
        self.assertEqual("SHA256SUMS.minisig" in second, bool(key))
        if second.pop("SHA256SUMS.minisig", None):
            run(self.path("elsewhere/second-out/dist"), "minisign", "-V", "-p", self.path("key.pub"),
                "-m", "SHA256SUMS")
        self.assertEqual(first, second)
        sums = dict(reversed(line.split()) for line in first.pop("SHA256SUMS").decode().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256(data).hexdigest() for name, data in first.items()})
        tarball = next(name for name in first if name.endswith(".tar.gz"))
        with tarfile.open(self.path("first-out/dist", tarball)) as tar:
            names = tar.getnames()
        stem = tarball.removesuffix(".tar.gz")
        self.assertIn(f"{stem}/Makefile", names)
        self.assertTrue(all(name.split("/")[0] == stem for name in names))
        bundled = {os.path.basename(n) for n in names if n.startswith(f"{stem}/web/bundle/")}
        if pages == ["WEB=0"]:
            self.assertEqual(bundled, set())
        else:
            self.assertLessEqual({"live.inc", "models.inc", "jobs.inc", "sizes.txt", "preact.LICENSE"}, bundled)
            self.check_built(stem)
        self.check_parts(json.loads(first[f"{stem}.spdx.json"]), sums[tarball])

    def check_built(self, stem):
        """The tarball's pages are compiled in, where there is neither Node nor npm."""
        run(self.top, "tar", "-xf", self.path("first-out/dist", f"{stem}.tar.gz"))
        page, out = self.path("out/web/page_jobs.o"), self.path("out")
        less = [f"{what}=0" for what in ("BPF", "XGBOOST", "LIBSVM", "SODIUM", "FREEIPMI")]
        for web, found in ((["WEB=0"], False), ([], True)):
            run(self.path(stem), "make", "-s", f"O={out}", "NODE=false", "NPM=false", *less, *web, page)
            with open(page, "rb") as f:
                self.assertEqual(b"text/html" in f.read(), found)

    def check_parts(self, doc, tarball_sum):
        self.assertEqual((doc["spdxVersion"], doc["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        self.assertRegex(doc["creationInfo"]["created"], r"^2026-11-20T12:00:00Z$")
        parts = {p["name"]: p for p in doc["packages"]}
        self.assertEqual(parts["tallywatt"]["checksums"][0]["checksumValue"], tarball_sum)
        ids = [p["SPDXID"] for p in doc["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for part in ids:
            self.assertRegex(part, r"^SPDXRef-[A-Za-z0-9.-]+$")
        related = {r[end] for r in doc["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
        self.assertEqual(related, {"SPDXRef-DOCUMENT", *ids})
        # What a release links, and what its pages contain.
        with open(os.path.join(ROOT, "etc/packages"), encoding="utf-8") as f:
            listed = re.findall(r"^(?:build|maybe)\s+([^\s|]+)", f.read(), re.M)
        self.assertLessEqual(set(listed), set(parts))
        self.assertEqual(parts["libgsl-dev"]["licenseDeclared"], "GPL-3.0-or-later")
        for name in ("preact", "htm", "uplot"):
            self.assertRegex(parts[name]["licenseDeclared"], r"^(MIT|Apache-2\.0)$")
            self.assertEqual(len(parts[name]["checksums"][0]["checksumValue"]), 128)
        self.assertNotIn("playwright-core", parts)


if __name__ == "__main__":
    unittest.main()
