# A database that keeps its data in the volume of database.volume.hcl. A volume is on one node, and
# Nomad places the job there, because zcsi tells it where the volume is.
#
# Redis, as Debian's redis-server brings it, without a network: who shares the group reaches it by
# the socket in /alloc.

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
