# SPDX-License-Identifier: MPL-2.0
"""The sandboxes of the units in jobs/systemd, without systemd. As a module: the settings of a unit,
and the words of a command that runs a program in its sandbox. As a program, a part of that command:
it installs the unit's system call filter and becomes the command of its arguments.

Each setting of a unit has its effect here, is in NOT_SANDBOX, or is reported as a mistake. Those in
FOLDERS have no effect: they hide or protect folders, all of which are read-only for the user of the
tests anyway."""
import ctypes
import errno
import os
import socket
import sys
from pathlib import Path

UNITS = Path(__file__).resolve().parents[2] / "jobs/systemd"
NOBODY = 65534
NOT_SANDBOX = {"Type", "ExecStart", "ExecReload", "Restart", "RestartSec", "KillMode",
               "TimeoutStopSec", "Environment", "EnvironmentFile", "LoadCredential",
               "LimitNOFILE", "RuntimeDirectory", "RuntimeDirectoryPreserve"}
FOLDERS = {"ProtectHome", "ProtectControlGroups", "ProtectKernelLogs", "ProtectKernelModules",
           "ProtectKernelTunables", "PrivateDevices", "PrivateTmp"}
NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
WRITE, EXECUTE, SHM_EXEC = 2, 4, 0o100000


def settings(program):
    """Return the settings of [Service]: name -> words. The words of repeated settings are
    joined."""
    found, section = {}, None
    for line in (UNITS / f"{program}.service").read_text().splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).extend(value.split())
    return found


def sandbox(program, writable=None):
    """Return the words of a command that runs a program in the unit's sandbox. `writable` is the
    folder that replaces the unit's own in /run."""
    said, words = settings(program), []
    if said.pop("ProtectSystem", None) == ["strict"]:
        words += ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                  'mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"',
                  "sh", str(writable)]
    words += [sys.executable, __file__, program, "setpriv", "--inh-caps=-all", "--bounding-set",
              ",".join(["-all", *("+" + name[4:].lower()
                                  for name in said.pop("CapabilityBoundingSet"))])]
    if said.pop("NoNewPrivileges") == ["yes"]:
        words.append("--no-new-privs")
    if said.pop("DynamicUser", None) == ["yes"]:
        words += [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    unknown = said.keys() - NOT_SANDBOX - FOLDERS - EFFECTS.keys()
    assert not unknown, f"{program}.service says {unknown}, which no test applies"
    return words


def deny_calls(deny, _, words):
    names = [word.lstrip("~") for word in words]
    assert words[0].startswith("~"), "a list of what is allowed is not known here"
    for name in names:
        deny(errno.EPERM, name)


def deny_families(deny, arg, words):
    allowed = {getattr(socket, word) for word in words}
    for family in set(range(64)) - allowed:
        deny(errno.EAFNOSUPPORT, "socket", arg(0, "EQ", family))


def deny_executable(deny, arg, _):
    deny(errno.EPERM, "mmap", arg(2, "MASKED_EQ", WRITE | EXECUTE, WRITE | EXECUTE))
    for call in ("mprotect", "pkey_mprotect"):
        deny(errno.EPERM, call, arg(2, "MASKED_EQ", EXECUTE, EXECUTE))
    deny(errno.EPERM, "shmat", arg(2, "MASKED_EQ", SHM_EXEC, SHM_EXEC))


def deny_namespaces(deny, arg, _):
    deny(errno.EPERM, "setns")
    deny(errno.ENOSYS, "clone3")  # programs then call clone(2), whose flags a filter can check
    for flag in NAMESPACES:
        for call in ("clone", "unshare"):
            deny(errno.EPERM, call, arg(0, "MASKED_EQ", flag, flag))


def deny_realtime(deny, arg, _):
    for policy in (os.SCHED_FIFO, os.SCHED_RR):
        deny(errno.EPERM, "sched_setscheduler", arg(1, "EQ", policy))


EFFECTS = {
    "SystemCallFilter": deny_calls,
    "SystemCallErrorNumber": lambda deny, arg, words: words == ["EPERM"] or sys.exit(1),
    "SystemCallArchitectures": lambda deny, arg, words: None,  # a default of libseccomp's filters
    "RestrictAddressFamilies": deny_families,
    "MemoryDenyWriteExecute": deny_executable,
    "RestrictNamespaces": deny_namespaces,
    "RestrictRealtime": deny_realtime,
    "LockPersonality": lambda deny, arg, words: deny(errno.EPERM, "personality"),
    "UMask": lambda deny, arg, words: os.umask(int(words[0], 8)),
}


class Comparison(ctypes.Structure):
    """The struct scmp_arg_cmp of libseccomp."""
    _fields_ = [("position", ctypes.c_uint), ("operator", ctypes.c_int),
                ("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


class Filter:
    """A system call filter that allows everything except the calls denied by deny(). libseccomp is
    installed on every host that has apt."""
    ALLOW, ERRNO = 0x7fff0000, 0x50000
    OPERATORS = {"EQ": 4, "MASKED_EQ": 7}

    def __init__(self):
        self.library = ctypes.CDLL("libseccomp.so.2")
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.rules = ctypes.c_void_p(self.library.seccomp_init(self.ALLOW))

    def arg(self, position, operator, first, second=0):
        return Comparison(position, self.OPERATORS[operator], first, second)

    def deny(self, number, call, *conditions):
        result = self.library.seccomp_rule_add_array(
            self.rules, self.ERRNO | number,
            self.library.seccomp_syscall_resolve_name(call.encode()), len(conditions),
            (Comparison * len(conditions))(*conditions))
        assert result == 0, f"{call}: {os.strerror(-result)}"

    def load(self):
        assert self.library.seccomp_load(self.rules) == 0


def main(program, *words):
    rules = Filter()
    for name, value in settings(program).items():
        if name in EFFECTS:
            EFFECTS[name](rules.deny, rules.arg, value)
    # The leak check of a sanitizer uses ptrace(2), which the filter denies.
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    rules.load()
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(*sys.argv[1:])
