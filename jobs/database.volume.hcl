# nomad volume create jobs/database.volume.hcl
#
# To enlarge the volume later, raise capacity_min and run the command again.

# The id is for jobs and commands, and unique in the namespace. The name is that of the dataset, and
# must be unique in the cluster: put the namespace into it.
id        = "database"
name      = "default.database"
type      = "csi"
plugin_id = "zcsi"

capacity_min = "64MiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# Nomad can enlarge a volume in use only if this was in the file when the volume was created.
mount_options {
  fs_type = "zfs"
}

# Each parameter is optional; `zcsi-controller --help` lists them.
parameters {
  # Another namespace here makes zcsi refuse a second volume of this name: Nomad sends no namespace.
  "zfs.user.nomad:namespace" = "default"

  "zfs.compression" = "on"
  "zfs.recordsize"  = "16K"

  # Owner of the root directory: here user nobody, as whom the exec driver runs tasks.
  "owner" = "65534"
  "group" = "65534"
}
