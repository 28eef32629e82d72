# SPDX-License-Identifier: MPL-2.0
"""Root file systems of Debian releases, made from this host's apt sources. A release is downloaded
once; each root is a fresh copy, in which commands run with chroot in namespaces of their own."""
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]

# Print the host's apt entry of Debian, for the release $1 instead of the host's.
SOURCES = """. jobs/local/host.sh
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
from=$(host_debian_source)
host_contrib_entry "${from%:*}" "${from##*:}" |
	sed "s/\\<$codename\\>/$1/g; s/\\<contrib$/main contrib/"
"""
# Run the rest of the words in the root $0, which becomes a mount point as every / is.
INSIDE = """mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
exec chroot "$0" "$@"
"""
NAMESPACES = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
APT = ("apt-get", "-q", "-y", "--no-install-recommends")


def run(*argv, **how):
    """Run a command and return what it printed; if it fails, show that and raise."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **how)
    assert done.returncode == 0, f"{' '.join(map(str, argv))}:\n{done.stdout}"
    return done.stdout


class Root:
    def __init__(self, folder):
        self.folder = folder

    def run(self, *argv, **env):
        how = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive", **env}
        return run(*NAMESPACES, "sh", "-e", "-c", INSIDE, self.folder, *argv, env=how)

    def apt(self, *words):
        return self.run(*APT, *words)

    def path(self, name):
        return self.folder / name.lstrip("/")


class Release:
    """A release as a file, of which each root is a copy."""

    def __init__(self, name, folder):
        self.name, self.folder, self.file = name, folder, folder / f"{name}.tar"
        sources = run("bash", "-euo", "pipefail", "-c", SOURCES, "-", name, cwd=ROOT)
        folder.joinpath(f"{name}.sources").write_text(sources)
        options = [line for line in run("apt-config", "dump").splitlines()
                   if line.startswith("Acquire::")]
        folder.joinpath("apt.conf").write_text("\n".join(options) + "\n")
        run(*NAMESPACES, "mmdebstrap", "--variant=minbase", "--include=ca-certificates,man-db",
            f"--aptopt={folder}/apt.conf", "--dpkgopt=force-unsafe-io", "", self.file,
            f"{folder}/{name}.sources")

    def root(self, name):
        folder = self.folder / f"{self.name}-{name}"
        folder.mkdir()
        run("tar", "-xf", self.file, "-C", folder, "--numeric-owner")
        made = Root(folder)
        made.apt("update")
        return made


def files(root):
    """Return the names of all files, but those in which apt, dpkg and others keep what they did."""
    kept = ("/proc", "/sys", "/dev", "/tmp", "/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt",
            "/var/cache/man", "/var/log")
    found = set()
    for folder, folders, names in os.walk(root.folder):
        inside = "/" + os.path.relpath(folder, root.folder).removeprefix(".")
        folders[:] = [name for name in folders if os.path.join(inside, name) not in kept]
        found |= {os.path.join(inside, name) for name in (*folders, *names)}
    return found
