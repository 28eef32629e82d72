# A job that keeps its data in a host volume. Tests use the volume in the namespaces of the task.

variable "job" {
  type = string
}
variable "volume" {
  type = string
}

job "consumer" {
  id          = var.job
  name        = var.job
  datacenters = ["*"]

  group "group" {
    restart {
      attempts = 0
      mode     = "fail"
    }

    volume "data" {
      type            = "host"
      source          = var.volume
      access_mode     = "single-node-single-writer"
      attachment_mode = "file-system"
      sticky          = true
    }

    task "task" {
      driver       = "exec"
      kill_timeout = "1s"

      config {
        command = "/bin/busybox"
        args    = ["tail", "-f", "/dev/null"]
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      resources {
        cpu    = 20
        memory = 64 # the container starts as a nomad process, which needs this much
      }
    }
  }
}
