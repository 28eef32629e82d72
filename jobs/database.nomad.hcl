# A database that keeps its data in the volume of database.volume.hcl. A volume is on one node, and
# Nomad places the job there, because zcsi tells it where the volume is.
#
# Redis, as Debian's redis-server brings it, without a network: who shares the group reaches it by
# the socket in /alloc.

variable "volume" {
  type    = string
  default = "database"
}

job "database" {
  datacenters = ["*"]
  type        = "service"

  group "database" {
    volume "data" {
      type            = "csi"
      source          = var.volume
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
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
