# nomad volume create jobs/restored.volume.hcl
#
# What was in the volume `database` when the snapshot `monday` was taken; a volume of its own.

id          = "restored"
name        = "restored"
type        = "csi"
plugin_id   = "zcsi"
snapshot_id = "database@monday"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type = "zfs"
}
