# SPDX-License-Identifier: Apache-2.0
"""What `make deb`, `make rpm` and `make dist` made, installed in a clean Debian: `make nightly-packages`.

It runs, serves its pages, and leaves nothing when it is removed. Needs root, mmdebstrap, rpm, and
Debian's packages.
"""
import glob
import os
import shutil
import subprocess
import unittest

from harness import BIN, ROOT, Case, need

SUITE = "bookworm"
# For etc/debian/tests/smoke, whose library part is compiled.
WITH = "ca-certificates,curl,gcc,libc6-dev,pkg-config"
# What other packages and the system write.
FOREIGN = ("proc", "sys", "dev", "made", "tmp", "root", "var/lib/dpkg", "var/lib/apt", "var/lib/rpm", "var/cache",
           "var/log", "usr/lib/sysimage")
INSIDE = """
mount -t proc proc "$0/proc" && mount -t sysfs sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"
"""


def run(*command, **more):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=1200, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout[-3000:]}")
    return done.stdout


class Installed(Case):
    def setUp(self):
        super().setUp()
        need("root", os.geteuid() == 0)
        for program in ("mmdebstrap", "rpm"):
            need(program, shutil.which(program) is not None)
        clean, new = (os.path.join(BIN, f"{name}-{SUITE}.tar") for name in ("clean", "new"))
        if not os.path.exists(clean):
            run("mmdebstrap", "--variant=minbase", f"--include={WITH}", SUITE, new)
            os.rename(new, clean)
        self.root = self.path("root")
        os.mkdir(self.root)
        run("tar", "-x", "-C", self.root, "--exclude=./dev/*", "-f", clean)
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc"))
        shutil.copy(os.path.join(ROOT, "etc/debian/tests/smoke"), os.path.join(self.root, "root"))
        os.mkdir(os.path.join(self.root, "made"))

    def made(self, pattern):
        """Copy what was built into the root; its names there."""
        found = [p for p in glob.glob(os.path.join(BIN, pattern)) if "dbgsym" not in p]
        self.assertTrue(found, f"{pattern}: nothing was built")
        for path in found:
            shutil.copy(path, os.path.join(self.root, "made"))
        return ["/made/" + os.path.basename(p) for p in found]

    def inside(self, *command, **environment):
        return run("unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, self.root, *command,
                   env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                        **{k: v for k, v in os.environ.items() if k.endswith("_proxy")}, **environment})

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
