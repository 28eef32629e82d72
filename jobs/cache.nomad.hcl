# A cache with its data in the host volume of cache.volume.hcl, whatever happens to the controllers
# of zcsi. Nomad places the job on the client that has the volume.
#
# The cache is Debian's redis-server, without a network; tasks of the same group reach it by the
# socket in /alloc.

job "cache" {
  datacenters = ["*"]
  type        = "service"

  group "cache" {
    volume "data" {
      type            = "host"
      source          = "cache"
      access_mode     = "single-node-single-writer"
      attachment_mode = "file-system"

      # The next allocation gets the volume of this one, also if other clients have one of this name.
      sticky = true
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
