# SPDX-License-Identifier: Apache-2.0
"""A root of a release of Debian that has nothing but what a test names, kept as an archive in the build folder."""
import os
import shutil
import subprocess

from harness import BIN, Case, need

# The root is a mount: unshare(1) inside changes its propagation.
INSIDE = """
root=$1; shift
mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || exit 1
while [ "$1" != -- ]; do mkdir -p "$root$2" && mount --bind "$1" "$root$2" || exit 1; shift 2; done
shift
exec chroot "$root" "$@"
"""


def run(*command, timeout=1200, **more):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout, **more)
    if done.returncode != 0:
        failed = "\n".join(line for line in done.stdout.splitlines() if "FAIL" in line)
        raise AssertionError(f"{command}: {done.stdout[-8000:]}\n{failed}")
    return done.stdout


def settings_of_network():
    """The variables by which programs reach servers from this machine: proxies, the registry of npm, and files of
    certificate authorities."""
    found = {k: v for k, v in os.environ.items()
             if k.lower().endswith("_proxy") or k in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")}
    if shutil.which("npm"):
        for name in ("cafile", "registry", "proxy", "https-proxy"):
            found["npm_config_" + name.replace("-", "_")] = subprocess.run(
                ["npm", "config", "get", name], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                timeout=60).stdout.strip()
    return {k: v for k, v in found.items() if v not in ("", "null", "undefined")}


class CleanRoot(Case):
    """A machine of its own in each test: self.install(), then self.inside()."""

    def install(self, suite, packages):
        need("root", os.geteuid() == 0)
        need("mmdebstrap", shutil.which("mmdebstrap") is not None)
        clean, new = (os.path.join(BIN, f"{name}-{suite}-{packages}.tar") for name in ("clean", "new"))
        if not os.path.exists(clean):
            run("mmdebstrap", "--variant=minbase", f"--include={packages}", suite, new)
            os.rename(new, clean)
        self.root = self.path("root")
        os.mkdir(self.root)
        self.binds = []
        run("tar", "-x", "-C", self.root, "--exclude=./dev/*", "-f", clean)
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc"))
        self.settings = settings_of_network()
        for name, value in self.settings.items():
            if os.path.isfile(value):
                self.settings[name] = "/etc/ssl/of-host/" + name
                os.makedirs(self.root + "/etc/ssl/of-host", exist_ok=True)
                shutil.copy(value, self.root + self.settings[name])

    def bind(self, path, inside):
        """A folder of this machine that commands see."""
        self.binds += [path, inside]

    def inside(self, *command, timeout=1200, **environment):
        """The output of a command, which succeeds."""
        return run("unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "sh", self.root, *self.binds,
                   "--", *command, timeout=timeout,
                   env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                        **self.settings, **environment})
