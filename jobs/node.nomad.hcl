# zcsi-node, on every client: the ones with a pool keep volumes in it, the others only mount.
#
# raw_exec, because zfs(8) and the mounts belong to the host: the client's `raw_exec` plugin must
# be enabled and its agent run as root. `make install` puts the daemon where `program` says.
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there.

variable "job" {
  type    = string
  default = "zcsi-node"
}

variable "datacenters" {
  type    = list(string)
  default = ["*"]
}

variable "program" {
  type    = string
  default = "/usr/local/sbin/zcsi-node"
}

variable "dataset" {
  type        = string
  default     = "tank/zcsi"
  description = "Empty for clients without a pool."
}

variable "certificates" {
  type        = string
  default     = "/etc/zcsi"
  description = "The folder with ca.pem, and with NAME.pem and NAME.key for the client NAME."
}

variable "data_dir" {
  type        = string
  default     = "/opt/nomad/data"
  description = "The data_dir of the clients' agents."
}

job "zcsi-node" {
  id          = var.job
  name        = var.job
  datacenters = var.datacenters
  type        = "system"

  group "node" {
    # However often it ends, it starts again: left to itself Nomad gives up after two times.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    network {
      port "agent" { static = 9740 }
    }

    # How the controller finds this agent.
    service {
      name     = "zcsi-agent"
      provider = "nomad"
      port     = "agent"
    }

    task "zcsi-node" {
      driver = "raw_exec"

      csi_plugin {
        id        = "zcsi"
        type      = "node"
        mount_dir = "/csi"

        # raw_exec has no mounts of its own, so this is the client's own folder for it:
        # <data_dir>/client/csi/node/<csi_plugin id>.
        stage_publish_base_dir = "${var.data_dir}/client/csi/node/zcsi"
      }

      config {
        command = var.program
        args = [
          "--node-id", "${node.unique.name}",
          "--dataset", var.dataset,
          "--agent-endpoint", "tcp://${NOMAD_ADDR_agent}",

          # Whoever calls the agent can create and destroy volumes: that is the controller alone,
          # by its certificate. jobs/local/certs makes them.
          "--tls-ca", "${var.certificates}/ca.pem",
          "--tls-cert", "${var.certificates}/${node.unique.name}.pem",
          "--tls-key", "${var.certificates}/${node.unique.name}.key",
          "--allow", "zcsi.v1.Agent=controller.zcsi",
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
