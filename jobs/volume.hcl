# nomad volume create jobs/volume.hcl
#
# Larger later: raise capacity_min and give the command again.

id        = "traefik-acme"
name      = "traefik-acme" # the volume id at zcsi, and the name of the dataset
type      = "csi"
plugin_id = "zcsi"

capacity_min = "1GiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# Each is optional; `zcsi-controller --help` lists them.
parameters {
  "zfs.compression" = "lz4"
  "zfs.recordsize"  = "16K"
}
