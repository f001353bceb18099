# SPDX-License-Identifier: Apache-2.0
"""What `make deb`, `make rpm` and `make dist` made, installed in a clean Debian: `make nightly-packages`.

It runs, serves its pages, and leaves nothing when it is removed. Needs root, mmdebstrap, rpm, and
Debian's packages.
"""
import glob
import os
import shutil
import unittest

from clean_root import CleanRoot, run
from harness import BIN, ROOT, need

# For etc/debian/tests/smoke, whose library part is compiled.
WITH = "ca-certificates,curl,gcc,libc6-dev,pkg-config"
# What other packages and the system write.
FOREIGN = ("proc", "sys", "dev", "made", "tmp", "root", "var/lib/dpkg", "var/lib/apt", "var/lib/rpm", "var/cache",
           "var/log", "usr/lib/sysimage")


class Installed(CleanRoot):
    def setUp(self):
        super().setUp()
        need("rpm", shutil.which("rpm") is not None)
        self.install("bookworm", WITH)
        shutil.copy(os.path.join(ROOT, "etc/debian/tests/smoke"), os.path.join(self.root, "root"))
        os.mkdir(os.path.join(self.root, "made"))

    def made(self, pattern):
        """Copy what was built into the root; its names there."""
        found = [p for p in glob.glob(os.path.join(BIN, pattern)) if "dbgsym" not in p]
        self.assertTrue(found, f"{pattern}: nothing was built")
        for path in found:
            shutil.copy(path, os.path.join(self.root, "made"))
        return ["/made/" + os.path.basename(p) for p in found]

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.root):
            there = os.path.relpath(folder, self.root)
            folders[:] = [f for f in folders if os.path.normpath(os.path.join(there, f)) not in FOREIGN]
            found.update(os.path.normpath(os.path.join(there, n)) for n in names)
        return found

    def ours(self):
        return [f for f in self.files() if "tallywatt" in f or "/tw-" in f]

    def test_packages_of_debian_and_of_rpm(self):
        debs = self.made("deb/*.deb")
        self.inside("apt-get", "update")
        self.inside("apt-get", "install", "-y", "--no-install-recommends", *debs)
        self.inside("sh", "/root/smoke")
        self.assertTrue(self.ours())
        self.inside("apt-get", "purge", "-y", *(os.path.basename(d).split("_")[0] for d in debs))
        self.assertEqual(self.ours(), [])

        # Those of rpm, with the libraries that are there now.
        before, rpm = self.files(), ("rpm", "--root", self.root)
        rpms = [self.root + p for p in self.made("rpm/RPMS/*/*.rpm")]
        run(*rpm, "--initdb")
        run(*rpm, "-i", "--nodeps", *rpms)
        self.assertEqual([line for line in run(*rpm, "-Va", "--nodeps").splitlines() if "rpm:" not in line], [])
        library = "/usr/lib64"
        self.inside("sh", "/root/smoke", LD_LIBRARY_PATH=library, PKG_CONFIG_PATH=library + "/pkgconfig")
        run(*rpm, "-e", "--nodeps", *(os.path.basename(p).rsplit("-", 2)[0] for p in rpms))
        self.assertEqual(self.files(), before)

    def test_the_binary_tarball(self):
        tarball, = self.made("dist/*-linux-*.tar.gz")
        self.inside("tar", "-x", "-C", "/made", "-f", tarball)
        there = tarball.removesuffix(".tar.gz")
        before = self.files()
        for prefix in ("/usr/local", "/opt/tw"):
            self.inside(there + "/install.sh", "--prefix", prefix)
            for program in ("tw-collector", "tw-server", "tw-trainer", "tw-estimator", "tallywatt"):
                self.assertNotIn("not found", self.inside("ldd", f"{prefix}/bin/{program}"))
            self.inside("sh", "/root/smoke", "programs", PATH=f"{prefix}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                        TW_MODEL_DB=f"{prefix}/share/tallywatt/models")
            self.inside(prefix + "/share/tallywatt/install.sh", "--prefix", prefix, "--uninstall")
            self.assertEqual(self.files(), before)


if __name__ == "__main__":
    unittest.main()
