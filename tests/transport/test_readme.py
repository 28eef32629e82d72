# SPDX-License-Identifier: MPL-2.0
"""The files and commands in transport/README.md work exactly as printed there."""
import os
import re
import shutil
import subprocess

import pytest

from frames import BUILD, ROOT, wait_for

TEXT = (ROOT / "transport/README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hello(tmp_path_factory):
    """Returns a folder with both programs, and the parts of the tree that the commands use."""
    folder = tmp_path_factory.mktemp("hello")
    for name in ("common", "transport"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").symlink_to(BUILD)
    (folder / "proto").mkdir()
    shutil.copy(ROOT / "proto/names.awk", folder / "proto")
    files = re.findall(r"^`([\w/.]+)`[^`]*\n```\w+\n(.*?)^```$", TEXT, re.M | re.S)
    assert [name for name, _ in files] == ["proto/hello.proto", "server.c", "client.c"]
    for name, text in files:
        (folder / name).write_text(text)
    commands = re.search(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S)[1]
    flags = os.environ.get("README_CFLAGS", "-Wall -Wextra -Werror")
    subprocess.run(["bash", "-euc", commands.replace("gcc ", f"gcc {flags} ")], check=True,
                   cwd=folder)
    return folder


def greet(hello, endpoint, name):
    done = subprocess.run([hello / "client", endpoint, name], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stdout or done.stderr


def test_the_example_works_as_printed(hello):
    path = hello / "hello.sock"
    endpoint = f"unix://{path}"
    server = subprocess.Popen([hello / "server", endpoint])
    try:
        wait_for(path.exists, "the server listens")
        assert greet(hello, endpoint, "world") == (0, "Hello, world!\n")
        status, text = greet(hello, endpoint, "")
        assert status == 1 and text.startswith("INVALID_ARGUMENT: name is missing")
    finally:
        server.terminate()
        assert server.wait(20) == 0
    status, text = greet(hello, endpoint, "world")
    assert status == 1 and "UNAVAILABLE" in text
