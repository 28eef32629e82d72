# What the tests need of a Nomad, and nothing that looks outside. Its name, its data and its network
# are on the command line.

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
