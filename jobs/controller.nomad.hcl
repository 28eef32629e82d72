# zcsi-controller on any two clients, so that one may fail. It has no state and needs no privilege.
#
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there. Under raw_exec and exec it runs as the
# program of `make install`, under docker and podman in a container of jobs/Containerfile.

variable "driver" {
  type        = string
  default     = "raw_exec"
  description = "raw_exec, exec, docker or podman."
}

variable "image" {
  type        = string
  default     = "zcsi:0.1.0"
  description = "For docker and podman, of jobs/Containerfile."
}

variable "program" {
  type    = string
  default = "/usr/local/sbin/zcsi-controller"
}

variable "certificates" {
  type        = string
  default     = "/etc/zcsi"
  description = "The folder with ca.pem, controller.zcsi.pem and controller.zcsi.key."
}

variable "vault" {
  type        = string
  default     = ""
  description = "Path of Vault's PKI, such as pki; certificates come from its role zcsi."
}

variable "discovery" {
  type        = string
  default     = "nomad"
  description = "Source of the agents' addresses: nomad, or consul, whose DNS names are used then."
}

variable "count" {
  type        = number
  default     = 2
  description = "At most one on a client."
}

variable "metrics" {
  type        = number
  default     = 0
  description = "Port where Prometheus reads metrics, such as 9465; 0: they are not served."
}

variable "forget" {
  type        = string
  default     = ""
  description = "Clients that will not come back, separated by spaces: what they had is free."
}

variable "roll_call" {
  type        = number
  default     = 10
  description = "How often each agent is asked who it is, in seconds."
}

variable "assume_lost" {
  type        = number
  default     = 0
  description = "Do without an agent that has been silent for so many seconds; 0: never."
}

variable "forget_after" {
  type        = number
  default     = 259200
  description = "How long the names of an agent are kept that left the list, in seconds."
}

variable "partial_lists" {
  type        = bool
  default     = false
  description = "List the volumes of the agents that answer, rather than fail when one does not."
}

variable "allow" {
  type        = list(string)
  default     = []
  description = "More callers, each [SERVICE[/METHOD]=]NAME; without any, all with a certificate."
}

variable "log_level" {
  type        = string
  default     = "info"
  description = "debug, info, warn or error."
}

variable "log_format" {
  type        = string
  default     = "logfmt"
  description = "logfmt or json."
}

locals {
  contained = contains(["docker", "podman"], var.driver)

  # Vault writes the key into the certificate's file.
  folder = var.vault == "" ? var.certificates : "$${NOMAD_SECRETS_DIR}"
  key    = var.vault == "" ? "key" : "pem"

  # Every agent that zcsi-node registered; Consul's list includes agents on hosts that are down.
  agents = {
    nomad  = <<-END
      {{- range nomadService "zcsi-agent" }}
      tcp://{{ .Address }}:{{ .Port }}
      {{- end }}
    END
    consul = <<-END
      {{- range service "zcsi-agent|any" }}
      tcp://{{ .Node }}.node.consul:{{ .Port }}
      {{- end }}
    END
  }
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

    # Restart without limit; by default Nomad gives up after two restarts.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    dynamic "network" {
      for_each = var.metrics == 0 ? [] : [var.metrics]
      content {
        port "metrics" { static = network.value }
      }
    }

    task "zcsi-controller" {
      driver = var.driver
      user   = "root" # owner of the folder of CSI_ENDPOINT

      # Prometheus finds the metrics by this service.
      dynamic "service" {
        for_each = var.metrics == 0 ? [] : [var.metrics]
        content {
          name     = "zcsi-metrics"
          provider = var.discovery
          port     = "metrics"
        }
      }

      csi_plugin {
        id        = "zcsi"
        type      = "controller"
        mount_dir = "/csi"
      }

      config {
        command = var.program
        args = [
          "--agents-file", "${NOMAD_TASK_DIR}/agents",
          "--tls-ca", "${local.folder}/ca.pem",
          "--tls-cert", "${local.folder}/controller.zcsi.pem",
          "--tls-key", "${local.folder}/controller.zcsi.${local.key}",
        ]

        image        = local.contained ? var.image : null
        network_mode = local.contained ? "host" : null
        volumes      = local.contained ? ["${var.certificates}:${var.certificates}:ro"] : null
      }

      # An empty variable counts as not set.
      env {
        ZCSI_FORGET        = var.forget
        ZCSI_ROLL_CALL     = "${var.roll_call}"
        ZCSI_ASSUME_LOST   = "${var.assume_lost}"
        ZCSI_FORGET_AFTER  = "${var.forget_after}"
        ZCSI_PARTIAL_LISTS = "${var.partial_lists}"
        ZCSI_ALLOW         = join(" ", var.allow)
        ZCSI_LOG_LEVEL     = var.log_level
        ZCSI_LOG_FORMAT    = var.log_format

        # Metrics have no TLS, and nothing else goes without it: there are certificates.
        ZCSI_METRICS  = var.metrics == 0 ? "" : "tcp://$${NOMAD_ADDR_metrics}"
        ZCSI_INSECURE = var.metrics == 0 ? "" : "true"
      }

      # The daemon re-reads the file when it changes.
      template {
        data        = local.agents[var.discovery]
        destination = "local/agents"
        change_mode = "noop"
      }

      # A certificate that is renewed before it expires.
      dynamic "vault" {
        for_each = var.vault == "" ? [] : [var.vault]
        content {
          role        = "zcsi"
          change_mode = "noop"
        }
      }
      dynamic "template" {
        for_each = var.vault == "" ? [] : [var.vault]
        content {
          data        = <<-END
            {{- with secret "${var.vault}/cert/ca" }}{{ .Data.certificate }}{{ end }}
          END
          destination = "secrets/ca.pem"
          change_mode = "noop"
        }
      }
      dynamic "template" {
        for_each = var.vault == "" ? [] : [var.vault]
        content {
          data        = <<-END
            {{- with pkiCert "${var.vault}/issue/zcsi" "common_name=controller.zcsi" }}
            {{ .Cert }}
            {{ .Key }}
            {{- end }}
          END
          destination = "secrets/controller.zcsi.pem"
          change_mode = "noop"
          perms       = "600"
        }
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
