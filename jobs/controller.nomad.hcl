# zcsi-controller: anywhere, once or more often. It holds no state and needs no privilege.
#
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there.

variable "program" {
  type    = string
  default = "/usr/local/sbin/zcsi-controller"
}

variable "certificates" {
  type        = string
  default     = "/etc/zcsi"
  description = "The folder with ca.pem, controller.zcsi.pem and controller.zcsi.key."
}

variable "count" {
  type        = number
  default     = 1
  description = "At most one on a client: with two clients, two, and either may die."
}

job "zcsi-controller" {
  datacenters = ["*"]
  type        = "service"

  group "controller" {
    count = var.count

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    # However often it ends, it starts again: left to itself Nomad gives up after two times.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    task "zcsi-controller" {
      driver = "raw_exec"

      csi_plugin {
        id        = "zcsi"
        type      = "controller"
        mount_dir = "/csi"
      }

      config {
        command = var.program
        args = [
          "--agents-file", "${NOMAD_TASK_DIR}/agents",
          "--tls-ca", "${var.certificates}/ca.pem",
          "--tls-cert", "${var.certificates}/controller.zcsi.pem",
          "--tls-key", "${var.certificates}/controller.zcsi.key",
        ]
      }

      # Every agent that zcsi-node registered. The daemon sees when the file is another one.
      template {
        data        = <<-END
          {{- range nomadService "zcsi-agent" }}
          tcp://{{ .Address }}:{{ .Port }}
          {{- end }}
        END
        destination = "local/agents"
        change_mode = "noop"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
