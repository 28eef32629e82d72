# nomad volume create jobs/database.volume.hcl
#
# Larger later: raise capacity_min and give the command again.

id        = "database"
name      = "database" # the volume id at zcsi, and the name of the dataset
type      = "csi"
plugin_id = "zcsi"

capacity_min = "64MiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# Nomad makes nothing larger that is in use unless this is in the file from the beginning.
mount_options {
  fs_type = "zfs"
}

# Each is optional; `zcsi-controller --help` lists them.
parameters {
  "zfs.compression" = "on"
  "zfs.recordsize"  = "16K"

  # Whose the root directory is: here nobody's, the user of the exec driver.
  "owner" = "65534"
  "group" = "65534"
}
