# SPDX-License-Identifier: Apache-2.0
"""make dist: the same bytes twice, the web pages, checksums, a bill of materials, a signature."""
import glob
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
# WEB is of the make that runs this test.
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "MAKE")) and k != "WEB"},
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
        run(self.path(name), "make", "-s", "dist", f"O={out}", "BPF=0", "XGBOOST=0", "LIBSVM=0",
            "BINARY=0", *more)
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
        run(self.top, "tar", "-xf", self.path("first-out/dist", f"{stem}.tar.gz"), "--exclude=*/tests/corpus",
            "--exclude=*/models")
        page, out = self.path("out/web/page_jobs.o"), self.path("out")
        less = [f"{what}=0" for what in ("BPF", "XGBOOST", "LIBSVM", "SODIUM", "FREEIPMI")]
        for web, found in ((["WEB=0"], False), ([], True)):
            run(self.path(stem), "make", "-s", f"O={out}", "NODE=false", "NPM=false", *less, *web, page)
            with open(page, "rb") as f:
                self.assertEqual(b"text/html" in f.read(), found)

    def test_an_image_lists_its_files_and_their_packages(self):
        library = next(iter(sorted(glob.glob("/lib/*/libz.so.1"))), None)
        if library is None or shutil.which("dpkg-query") is None:
            print("SKIPPED: test_dist: no dpkg, or no libz.so.1")
            self.skipTest("no dpkg, or no libz.so.1")
        root = self.path("root")
        program = root + "/usr/local/bin/tw-x"
        for source, there in (("/bin/true", program), (library, root + library)):
            os.makedirs(os.path.dirname(there))
            shutil.copy(source, there)
        with open(root + "/usr/local/bin/text", "w", encoding="ascii") as f:
            f.write("no program\n")
        doc = json.loads(run(self.top, os.path.join(ROOT, "etc/sbom"), "1.2.3", root))
        self.assertEqual([p["name"] for p in doc["packages"]], ["tallywatt", "zlib1g"])
        version = run(self.top, "dpkg-query", "-W", "-f", "${Version}", "zlib1g").decode()
        self.assertEqual(doc["packages"][1]["versionInfo"], version)
        self.assertIn(f"pkg:deb/debian/zlib1g@{version}?arch=", doc["packages"][1]["externalRefs"][0]["referenceLocator"])
        with open(program, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        files = {f["fileName"]: f["checksums"][0]["checksumValue"] for f in doc["files"]}
        self.assertEqual(set(files), {"./usr/local/bin/tw-x", "." + library})
        self.assertEqual(files["./usr/local/bin/tw-x"], digest)
        self.assertEqual(len([r for r in doc["relationships"] if r["relationshipType"] == "CONTAINS"]), 3)
        # A library that nobody packaged has no known origin.
        shutil.copy(library, root + os.path.dirname(library) + "/libnobody.so.1")
        done = subprocess.run([os.path.join(ROOT, "etc/sbom"), "1.2.3", root], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"etc/sbom: no package of Debian has {os.path.dirname(library)}/libnobody.so.1\n"))

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


def tree(top):
    """What lies below a folder: (kind, content) of each path; folders count, too."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                what = ("link", os.readlink(path))
            elif os.path.isdir(path):
                what = ("folder", "")
            else:
                with open(path, encoding="utf-8") as f:
                    what = ("file", f.read())
            found[os.path.relpath(path, top)] = what
    return found


class BinaryRelease(unittest.TestCase):
    """etc/dist/install.sh, on a small release of its form."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.release = os.path.join(self.top, "release")
        self.root = os.path.join(self.top, "root")
        os.mkdir(self.root)
        self.put("files/libexec/tallywatt/tw-server", "#!/bin/sh\necho 1\n", 0o755)
        self.put("files/libexec/tallywatt/tw-ask", "#!/bin/sh\nexit 2\n", 0o755)
        self.put("files/lib/systemd/system/tw-server.service",
                 "ExecStart=/usr/local/bin/tw-server --config /etc/tallywatt/tw-server.conf\n")
        for name in ("tw-server", "tw-collector", "tw-estimator"):
            self.put(f"files/share/tallywatt/examples/{name}.conf", "pull = /usr/local/share/tallywatt/models/a\n")
        self.put("files/share/tallywatt/models/a/metadata.json", "{}")
        self.put("glibc", "2.36\n")
        shutil.copy2(os.path.join(ROOT, "etc/dist/install.sh"), self.release)
        self.sum()

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.release, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def sum(self):
        run(self.release, "sh", "-c", "find . -type f ! -name SHA256SUMS -print0 | xargs -0 sha256sum >SHA256SUMS")

    def install(self, *options, script=None):
        return run(self.top, script or os.path.join(self.release, "install.sh"), "--destdir", self.root,
                   *options).decode()

    def refused(self, wanted, *options):
        with self.assertRaises(AssertionError) as caught:
            self.install(*options)
        self.assertRegex(str(caught.exception), wanted)

    def test_what_is_installed_names_where_it_lies_and_is_removed_without_a_trace(self):
        # Debian has a link to this one.
        os.makedirs(os.path.join(self.root, "usr/local/share/man"))
        for prefix, etc in (("/usr/local", "/etc"), ("/opt/tw", "/opt/tw/etc")):
            before = tree(self.root)
            said = self.install("--prefix", prefix)
            self.assertEqual("--model-db" in said, prefix != "/usr/local")
            found = tree(self.root)
            at = prefix[1:]
            self.assertEqual(found[f"{at}/bin/tw-server"], ("link", "../libexec/tallywatt/tw-server"))
            self.assertNotIn(f"{at}/bin/tw-ask", found)
            self.assertEqual(found[f"{at}/lib/systemd/system/tw-server.service"][1],
                             f"ExecStart={prefix}/bin/tw-server --config {etc}/tallywatt/tw-server.conf\n")
            conf = found[f"{etc[1:]}/tallywatt/tw-server.conf"][1]
            self.assertEqual(conf, f"pull = {prefix}/share/tallywatt/models/a\n")
            # What is compiled in names /usr/local.
            self.assertEqual(f"shipped-models = {prefix}" in found[f"{etc[1:]}/tallywatt/tw-collector.conf"][1],
                             prefix != "/usr/local")
            self.install("--prefix", prefix, "--uninstall",
                         script=f"{self.root}{prefix}/share/tallywatt/install.sh")
            self.assertEqual(tree(self.root).keys() - {"etc", "opt"}, before.keys() - {"etc", "opt"})

    def test_every_user_may_read_what_a_private_release_installs(self):
        run(self.top, "chmod", "-R", "go=", self.release)
        self.addCleanup(os.umask, os.umask(0o077))
        self.install()
        private = run(self.root, "find", ".", "-mindepth", "1", "!", "-type", "l", "!", "-perm", "-o+r")
        self.assertEqual(private, b"")
        self.assertTrue(os.stat(os.path.join(self.root, "usr/local/libexec/tallywatt/tw-ask")).st_mode & 1)

    def test_an_upgrade_removes_what_is_gone_and_keeps_configurations(self):
        self.install()
        mine = os.path.join(self.root, "etc/tallywatt/tw-server.conf")
        with open(mine, "w", encoding="utf-8") as f:
            f.write("log-level = debug\n")
        os.rename(os.path.join(self.release, "files/share/tallywatt/models/a"),
                  os.path.join(self.release, "files/share/tallywatt/models/b"))
        self.sum()
        self.assertIn("kept ", self.install())
        found = tree(self.root)
        self.assertEqual(found["etc/tallywatt/tw-server.conf"][1], "log-level = debug\n")
        self.assertNotIn("usr/local/share/tallywatt/models/a", found)
        self.assertIn("usr/local/share/tallywatt/models/b", found)
        self.install("--uninstall")
        self.assertEqual([p for p, (kind, _) in tree(self.root).items() if kind == "file"],
                         ["etc/tallywatt/tw-server.conf"])

    def test_what_it_refuses(self):
        self.refused("there is none", "--uninstall")
        self.refused("want an absolute path", "--prefix", "relative")
        self.refused("want an absolute path", "--prefix", "/a|b")
        self.refused("usage", "--what")
        there = os.path.join(self.root, "usr/local/bin/tw-server")
        os.makedirs(os.path.dirname(there))
        os.symlink("nowhere", there)
        self.refused("tw-server: is there, and not by install.sh")
        os.unlink(there)
        self.put("files/libexec/tallywatt/tw-server", "#!/nowhere\n", 0o755)
        self.refused("is not what was released")
        self.sum()
        self.refused("tw-server does not run here; it needs glibc 2.36")
        self.assertEqual([p for p, (kind, _) in tree(self.root).items() if kind != "folder"], [])


if __name__ == "__main__":
    unittest.main()
