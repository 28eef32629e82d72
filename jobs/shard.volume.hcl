# The volume of the first allocation, [0], of a job with per_alloc. To create the next one:
#
#   sed 's/\[0\]/[1]/' jobs/shard.volume.hcl | nomad volume create -

id        = "shard[0]"
name      = "default.shard[0]"
type      = "csi"
plugin_id = "zcsi"

capacity_min = "64MiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type = "zfs"
}

parameters {
  "zfs.user.nomad:namespace" = "default"

  "owner" = "65534"
  "group" = "65534"
}
