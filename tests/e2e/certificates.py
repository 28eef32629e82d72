# SPDX-License-Identifier: MPL-2.0
"""Certificates of jobs/local/certs, all of one CA, and such as have grown old."""
import time

from client import ROOT
from host import run


def make(folder):
    run(str(ROOT / "jobs/local/certs"), str(folder), "controller.example,127.0.0.1",
        "node.example,127.0.0.1", "stranger.example", "by-uri,spiffe://site/controller")
    return folder


def files(folder, name):
    """Return the options of a daemon for the CA and for the certificate and key of this name."""
    return ("--tls-ca", folder / "ca.pem", "--tls-cert", folder / f"{name}.pem",
            "--tls-key", folder / f"{name}.key")


ISSUE = """
[ca]
default_ca = it
[it]
database = {folder}/issued
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = peer
[any]
commonName = supplied
[peer]
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {names}
"""


def grow_old(folder, name, names, days_left):
    """Replace a certificate by one that was made for a year, and has so many days left."""
    def moment(days):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400))
    file, config = folder / name, folder / "issue.cnf"
    config.write_text(ISSUE.format(folder=folder, names=names))
    (folder / "issued").touch()
    run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
        "-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
    run("openssl", "ca", "-batch", "-notext", "-config", config, "-cert", folder / "ca.pem",
        "-keyfile", folder / "ca.key", "-startdate", moment(days_left - 365),
        "-enddate", moment(days_left), "-in", f"{file}.csr", "-out", f"{file}.pem")
