# zcsi-node, on every client: the ones with a pool keep volumes in it, the others only mount.
#
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there. Where a client runs it:
#
#   raw_exec         as a process of the host; `make install` puts the daemon where `program` says
#   docker, podman   in a container of jobs/Containerfile, with the rights and the ZFS of the host
#
# exec does not do: nobody else would see what is mounted in its chroot.

variable "job" {
  type    = string
  default = "zcsi-node"
}

variable "datacenters" {
  type    = list(string)
  default = ["*"]
}

variable "driver" {
  type        = string
  default     = "raw_exec"
  description = "raw_exec, docker or podman."
}

variable "image" {
  type        = string
  default     = "zcsi:0.1.0"
  description = "For docker and podman, of jobs/Containerfile."
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

variable "vault" {
  type        = string
  default     = ""
  description = "Where Vault has its PKI, such as pki: certificates are of the role zcsi there."
}

variable "discovery" {
  type        = string
  default     = "nomad"
  description = "Who tells the controller of the agents: nomad or consul."
}

variable "data_dir" {
  type        = string
  default     = "/opt/nomad/data"
  description = "The data_dir of the clients' agents."
}

locals {
  contained = contains(["docker", "podman"], var.driver)

  # Vault's key is in one file with its certificate.
  folder = var.vault == "" ? var.certificates : "$${NOMAD_SECRETS_DIR}"
  key    = var.vault == "" ? "key" : "pem"
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
      provider = var.discovery
      port     = "agent"
    }

    task "zcsi-node" {
      driver = var.driver

      csi_plugin {
        id        = "zcsi"
        type      = "node"
        mount_dir = "/csi"

        # raw_exec has no mounts of its own, so this is the client's own folder for it:
        # <data_dir>/client/csi/node/<csi_plugin id>. A container sees that folder by the same name.
        stage_publish_base_dir = "${var.data_dir}/client/csi/node/zcsi"
      }

      config {
        command = var.program
        args = [
          "--node-id", "${node.unique.name}",
          "--dataset", var.dataset,
          "--agent-endpoint", "tcp://${NOMAD_ADDR_agent}",
          "--address", "${NOMAD_IP_agent}",

          # Whoever calls the agent can create and destroy volumes: that is the controller alone,
          # by its certificate. jobs/local/certs makes them.
          "--tls-ca", "${local.folder}/ca.pem",
          "--tls-cert", "${local.folder}/${node.unique.name}.pem",
          "--tls-key", "${local.folder}/${node.unique.name}.${local.key}",
          "--allow", "zcsi.v1.Agent=controller.zcsi",
        ]

        image        = local.contained ? var.image : null
        privileged   = local.contained ? true : null
        network_mode = local.contained ? "host" : null
        volumes = local.contained ? [
          "/proc:/host/proc",              # by which the host's zfs is found
          "/run/zcsi:/run/zcsi",           # what tells one zcsi-node from the next
          "/run/udev:/run/udev:ro",        # for block volumes, ext4 and XFS
          "/etc/exports.d:/etc/exports.d", # these three for attach=nfs
          "/var/lib/nfs:/var/lib/nfs",
          "/run/zcsi-nfs:/run/zcsi-nfs:rshared",
          "${var.certificates}:${var.certificates}:ro",
        ] : null
      }

      # A certificate for the client's names and address; another one before it expires.
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
            {{- $name := env "node.unique.name" | printf "common_name=%s" }}
            {{- $dns := env "node.unique.name" | printf "alt_names=%s.node.consul" }}
            {{- $address := env "NOMAD_IP_agent" | printf "ip_sans=%s" }}
            {{- with pkiCert "${var.vault}/issue/zcsi" $name $dns $address }}
            {{ .Cert }}
            {{ .Key }}
            {{- end }}
          END
          destination = "secrets/${node.unique.name}.pem"
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
