#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Run csi-sanity against a split plugin and judge every spec of it.

    sanity.py CSI_SANITY NODE_ENDPOINT CONTROLLER_ENDPOINT DIRECTORY

csi-sanity leaves out, silently, what the plugin does not advertise, so a capability lost by
accident would look like success. Here a spec that was left out must be named in the file skip, and
a name in skip must be a spec that was left out: what has come to run is taken off the list.
The last line counts: N passed, M failed.
"""

import json
import os
import pathlib
import random
import subprocess
import sys

SKIP = pathlib.Path(__file__).with_name("skip")
LEFT_OUT = ("skipped", "pending")
# csi-sanity calls without a deadline: a call that hangs would hang it for ever.
TIMEOUT = 300
# Without any, csi-sanity sends ControllerModifyVolume requests that lack a required field.
MUTABLE = 'zfs.atime: "off"\n'


def expected():
    """The names in skip; what follows ' # ' is the reason."""
    lines = (line.partition(" # ")[0].strip() for line in SKIP.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def run(tool, node, controller, directory):
    report = pathlib.Path(directory, "sanity.json")
    report.unlink(missing_ok=True)
    seed = os.environ.get("SEED") or str(random.randrange(1, 1 << 31))
    print(f"seed {seed}", flush=True)
    mutable = pathlib.Path(directory, "mutable.yaml")
    mutable.write_text(MUTABLE)
    log = pathlib.Path(tool).with_name("sanity.log")
    with log.open("w") as out:
        status = subprocess.run(
            [
                tool,
                f"--csi.endpoint={node}",
                f"--csi.controllerendpoint={controller}",
                f"--csi.mountdir={directory}/csi-mount",
                f"--csi.stagingdir={directory}/csi-staging",
                f"--csi.testvolumemutableparameters={mutable}",
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
    """Each spec as its full name, its state and the words that came with it."""
    for suite in suites:
        for spec in (s for s in suite["SpecReports"] if s["LeafNodeType"] == "It"):
            name = " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]])
            yield name.strip(), spec["State"], spec.get("Failure", {}).get("Message", "")


def judge(found, names):
    """Failures, as text."""
    left_out = {name for name, state, _ in found if state in LEFT_OUT}
    for name, state, message in found:
        if state not in LEFT_OUT and state != "passed":
            yield f"{name} ({state})\n{message}"
    for name in sorted(left_out - set(names)):
        yield f"{name}: left out, and not named in {SKIP.name}"
    for name in names:
        if name not in left_out:
            yield f"{name}: named in {SKIP.name}, but it is no spec that is left out"


def main():
    status, suites = run(*sys.argv[1:])
    found = list(specs(suites))
    passed = sum(state == "passed" for _, state, _ in found)
    left_out = sum(state in LEFT_OUT for _, state, _ in found)
    failures = list(judge(found, expected()))
    if status != 0 and not failures:
        failures.append(f"csi-sanity exited {status}")
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(found)} specs, {left_out} left out as {SKIP.name} says")
    print(f"{passed} passed, {len(failures)} failed")


if __name__ == "__main__":
    main()
