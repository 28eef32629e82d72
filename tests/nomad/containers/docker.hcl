# Configuration of Nomad's docker driver, as jobs/README.md has it, but for the endpoint: podman
# serves Docker's API there.

plugin "docker" {
  config {
    endpoint         = "unix:///run/podman.sock"
    allow_privileged = true

    volumes {
      enabled = true
    }
  }
}
