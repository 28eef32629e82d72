# SPDX-License-Identifier: MPL-2.0
"""Container images of the programs that were built here, as `ctr images import` reads them."""
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from client import ROOT
from control import PROGRAMS
from daemon import BUILD
from host import run

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def pack(name, root, entrypoint=()):
    """Return the bytes of an image whose only layer is what a folder has."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        archive.add(root, arcname=".")
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Env": [f"PATH={PATH}"], "Entrypoint": list(entrypoint)},
        "rootfs": {"type": "layers",
                   "diff_ids": [f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"]}})
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name],
                            "Layers": ["layer.tar"]}])
    image = io.BytesIO()
    with tarfile.open(fileobj=image, mode="w") as archive:
        for file, content in (("config.json", config.encode()), ("layer.tar", layer.getvalue()),
                              ("manifest.json", manifest.encode())):
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return image.getvalue()


def add_program(root, program, to):
    """Copy a program and the libraries that it needs into the root folder of an image."""
    target = root / to.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, target)
    needed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for word in needed.split():
        if word.startswith("/"):
            (root / word.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, root / word.lstrip("/"))


def make_pause(root):
    """The program of a pod's first container, which does nothing until it is stopped."""
    source = root / "pause.c"
    source.write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    run("gcc", "-static", "-o", root / "pause", source)
    source.unlink()


def make_busybox(root):
    add_program(root, "/bin/busybox", "/bin/busybox")
    for name in ("sh", "cat", "df", "sleep", "stat", "sync"):
        (root / "bin" / name).symlink_to("busybox")


def all_images(folder, sidecars):
    """Yield each image that the cluster needs; sidecars: the names of images in the manifests."""
    def new(name):
        made = Path(folder, name)
        made.mkdir()
        return made
    make_pause(root := new("pause"))
    yield pack(PAUSE, root, ["/pause"])
    make_busybox(root := new("busybox"))
    yield pack(BUSYBOX, root)
    run("env", f"BUILD={os.path.relpath(BUILD, ROOT)}", ROOT / "jobs/local/image-root",
        root := new("zcsi"))
    yield pack("docker.io/library/zcsi:0.1.0", root)
    for image in sidecars:
        name = image.split("/")[-1].split(":")[0]
        add_program(root := new(name), PROGRAMS / name, f"/{name}")
        yield pack(image, root, [f"/{name}"])
