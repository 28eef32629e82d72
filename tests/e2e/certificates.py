# SPDX-License-Identifier: MPL-2.0
"""Certificates of jobs/local/certs, all of one CA."""
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
