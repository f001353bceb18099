# SPDX-License-Identifier: Apache-2.0
"""The file system that a kernel starts with: an archive in cpio's format "newc"
(Linux' Documentation/driver-api/early-userspace/buffer-format.rst)."""
import os
import re
import stat
import subprocess

PYTHON = "/usr/bin/python3"
# Programs that the checks start, beside ours and Python.
PROGRAMS = ("/bin/sh", "/bin/cat", "/bin/true", "/bin/mount", "/bin/umount",
            "/usr/bin/setpriv", "/usr/bin/unshare", "/sbin/modprobe")
# What is taken where it is there: some checks are skipped without.
OPTIONAL = ("/usr/sbin/bpftool", "/usr/bin/strace")
# Parts of Python's library that no check needs, and that are large.
UNUSED = {"test", "idlelib", "lib2to3", "tkinter", "ensurepip", "pydoc_data", "turtledemo",
          "dist-packages", "__pycache__", "distutils", "venv"}


class Archive:
    """Entries by their path, written at once; a file's folders come by themselves."""

    def __init__(self):
        self.entries = {"": (stat.S_IFDIR | 0o755, b"")}
        for name in ("dev", "proc", "sys", "tmp", "run", "etc", "root"):
            self.folder("/" + name)
        for name in ("bin", "sbin", "lib", "lib64"):
            self.folder("/usr/" + name)
            self.entries[name] = (stat.S_IFLNK | 0o777, f"usr/{name}".encode())

    def folder(self, path):
        path = path.strip("/")
        if path not in self.entries:
            self.folder(os.path.dirname(path))
            self.entries[path] = (stat.S_IFDIR | 0o755, b"")

    @staticmethod
    def place(path):
        """Where a path is once the folders that are links are followed: /bin is /usr/bin."""
        return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path).strip("/")

    def data(self, path, data, mode=0o644):
        path = self.place(path)
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, data)

    def file(self, source, path=None, mode=None):
        with open(source, "rb") as f:
            self.data(path or source, f.read(), mode or os.stat(source).st_mode & 0o777)

    def tree(self, source, path=None, unused=frozenset()):
        for folder, names, files in os.walk(source):
            names[:] = [n for n in names if n not in unused]
            for name in files:
                full = os.path.join(folder, name)
                self.file(full, (path or source) + full[len(source):])

    def program(self, source, path=None):
        """A program or library, with the libraries that it needs."""
        self.file(source, path)
        done = subprocess.run(["ldd", source], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        for needed in re.findall(r"(/\S+) \(0x", done.stdout.decode()):
            if self.place(needed) not in self.entries:
                self.file(needed)

    def python(self):
        top = subprocess.run([PYTHON, "-c", "import sysconfig\n"
                              "print(sysconfig.get_path('stdlib'), end='')"], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
        self.tree(top, unused=UNUSED)
        self.program(PYTHON)
        for name in os.listdir(os.path.join(top, "lib-dynload")):
            self.program(os.path.join(top, "lib-dynload", name))

    def write(self, path):
        """Folders before what is in them."""
        with open(path, "wb") as f:
            for number, name in enumerate(sorted(self.entries)):
                mode, data = self.entries[name]
                self.entry(f, number + 1, name or ".", mode, data)
            self.entry(f, 0, "TRAILER!!!", 0, b"")

    @staticmethod
    def entry(f, number, name, mode, data):
        name = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        f.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))
