# nomad volume create jobs/shared.volume.hcl
#
# A volume for several clients at once: a local mount on the client that holds it, NFS on the
# others.

id        = "shared"
name      = "default.shared"
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
  "zfs.user.nomad:namespace" = "default"

  "attach" = "nfs"
  "owner"  = "65534"
  "group"  = "65534"
}
