#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Run csi-sanity against a split plugin and check the result of every spec.

    sanity.py CSI_SANITY mount|block NODE_ENDPOINT CONTROLLER_ENDPOINT DIRECTORY

csi-sanity silently skips the specs of capabilities that the plugin does not advertise, so a
capability lost by accident would look like success. Here a skipped spec is a failure, unless no
plugin can pass it. Specs that csi-sanity's authors marked as pending cannot run; they are printed
and not counted. The last line is "N passed, M failed".
"""

import json
import os
import pathlib
import random
import subprocess
import sys

# The spec compares two messages in memory with their internal caches, so a plugin fails it if it
# returns the snapshot's topology. The field is an alpha feature of CSI 1.13; it is not advertised.
IMPOSSIBLE = ("CreateSnapshot [Controller Server] should succeed when creating a snapshot with "
              "accessibility requirements")
# csi-sanity sets no deadline, so a call that hangs would make it hang too.
TIMEOUT = 300 * int(os.environ.get("PATIENCE", 1))
# csi-sanity's mutable parameters. Without them its ControllerModifyVolume requests lack a required
# field.
MUTABLE = {"mount": 'zfs.atime: "off"\n', "block": 'zfs.compression: "off"\n'}


def run(tool, access, node, controller, directory):
    report = pathlib.Path(directory, "sanity.json")
    report.unlink(missing_ok=True)
    seed = os.environ.get("SEED") or str(random.randrange(1, 1 << 31))
    print(f"seed {seed}", flush=True)
    mutable = pathlib.Path(directory, "mutable.yaml")
    mutable.write_text(MUTABLE[access])
    log = pathlib.Path(tool).with_name("sanity.log")
    with log.open("w") as out:
        status = subprocess.run(
            [
                tool,
                f"--csi.endpoint={node}",
                f"--csi.controllerendpoint={controller}",
                f"--csi.testvolumeaccesstype={access}",
                f"--csi.mountdir={directory}/csi-mount",
                f"--csi.stagingdir={directory}/csi-staging",
                f"--csi.testvolumemutableparameters={mutable}",
                "--csi.testnodevolumeattachlimit",
                "--csi.testvolumesize=16777216",
                "--csi.testvolumeexpandsize=33554432",
                f"--ginkgo.seed={seed}",
                f"--ginkgo.timeout={TIMEOUT}s",
                "--ginkgo.grace-period=5s",
                f"--ginkgo.json-report={report}",
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT + 60,
            check=False,
        ).returncode
    if not report.exists():
        sys.exit(f"csi-sanity exited {status} without a report: see {log}")
    return status, json.loads(report.read_text())


def specs(suites):
    """Yield the full name, the state and the failure message of each spec."""
    for suite in suites:
        for spec in (s for s in suite["SpecReports"] if s["LeafNodeType"] == "It"):
            name = " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]])
            yield name.strip(), spec["State"], spec.get("Failure", {}).get("Message", "")


def main():
    status, suites = run(*sys.argv[1:])
    found = list(specs(suites))
    pending = [name for name, state, _ in found if state == "pending"]
    passed = sum(state == "passed" for _, state, _ in found)
    failures = [f"{name} ({state})\n{message}" for name, state, message in found
                if state not in ("passed", "pending")
                and (name, state) != (IMPOSSIBLE, "skipped")]
    if status != 0 and not failures:
        failures.append(f"csi-sanity exited {status}")
    for failure in failures:
        print("FAILED:", failure)
    for name in pending:
        print("pending in csi-sanity:", name)
    print(f"{len(found)} specs")
    print(f"{passed} passed, {len(failures)} failed")


if __name__ == "__main__":
    main()
