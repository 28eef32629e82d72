# A database with its data in the volume of database.volume.hcl. The volume is on one node, and
# Nomad places the job there, because zcsi reports the volume's node as its topology.
#
# The database is Debian's redis-server, without a network; tasks of the same group reach it by the
# socket in /alloc.

variable "job" {
  type    = string
  default = "database"
}

variable "volume" {
  type    = string
  default = "database"
}

variable "count" {
  type        = number
  default     = 1
  description = "With more than one each has a volume of its own: VOLUME[0], VOLUME[1], ..."
}

job "database" {
  id          = var.job
  name        = var.job
  datacenters = ["*"]
  type        = "service"

  group "database" {
    count = var.count

    volume "data" {
      type            = "csi"
      source          = var.volume
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
      per_alloc       = var.count > 1
    }

    task "redis" {
      driver = "exec"

      config {
        command = "/usr/bin/redis-server"
        args = [
          "--dir", "/data", "--appendonly", "yes",
          "--port", "0", "--unixsocket", "/alloc/redis.sock",
        ]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
