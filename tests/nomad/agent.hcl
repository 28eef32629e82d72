# Configuration of Nomad for the tests: no access to the outside. The name, the data folder and the
# network are given on the command line.

disable_update_check = true

client {
  enabled = true

  options = {
    "fingerprint.denylist" = "env_aws,env_azure,env_digitalocean,env_gce,consul,vault"
  }
}

plugin "raw_exec" {
  config {
    enabled = true
  }
}

# Nomad looks for claims of lost allocations every five minutes by default.
server {
  csi_volume_claim_gc_interval = "30s"
}
