# A job that claims a volume. Tests use the volume in the namespaces of the task.

variable "job" {
  type = string
}
variable "volume" {
  type = string
}
variable "access_mode" {
  type    = string
  default = "single-node-writer"
}
variable "read_only" {
  type    = bool
  default = false
}
variable "per_alloc" {
  type    = bool
  default = false
}
variable "count" {
  type    = number
  default = 1
}
variable "reschedule" {
  type    = bool
  default = false
}

job "consumer" {
  id          = var.job
  name        = var.job
  datacenters = ["*"]

  group "group" {
    count = var.count

    # A refused claim fails the job at once, so that a test can read the reason.
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = var.reschedule
    }

    volume "data" {
      type            = "csi"
      source          = var.volume
      access_mode     = var.access_mode
      attachment_mode = "file-system"
      read_only       = var.read_only
      per_alloc       = var.per_alloc
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
        read_only   = var.read_only
      }
      resources {
        cpu    = 20
        memory = 64 # the container starts as a nomad process, which needs this much
      }
    }
  }
}
