# nomad volume create jobs/restored.volume.hcl
#
# A new volume with the contents of the snapshot `monday` of the volume `default.database`.

id          = "restored"
name        = "default.restored"
type        = "csi"
plugin_id   = "zcsi"
snapshot_id = "default.database@monday"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type = "zfs"
}

parameters {
  "zfs.user.nomad:namespace" = "default"
}
