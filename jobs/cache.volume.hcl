# nomad volume create jobs/cache.volume.hcl
#
# A host volume: Nomad chooses a client and gives the volume an id. To enlarge it later, add that id,
# raise capacity_min, stop the job, and run the command again.

name      = "cache"
type      = "host"
plugin_id = "zcsi-host-volume"

capacity_min = "64MiB"
capacity_max = "1GiB"

capability {
  access_mode     = "single-node-single-writer"
  attachment_mode = "file-system"
}

# The same as of a volume of CSI; each is optional.
parameters {
  "zfs.compression" = "on"

  # Owner of the root directory: here user nobody, as whom the exec driver runs tasks.
  "owner" = "65534"
  "group" = "65534"
}
