# nomad volume create jobs/shared.volume.hcl
#
# For several clients at once: on the one that holds it a local mount, on the others NFS.

id        = "shared"
name      = "shared"
type      = "csi"
plugin_id = "zcsi"

capacity_min = "64MiB"

capability {
  access_mode     = "multi-node-multi-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type = "zfs"
}

parameters {
  "attach" = "nfs"
  "owner"  = "65534"
  "group"  = "65534"
}
