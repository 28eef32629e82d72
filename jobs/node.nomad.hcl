# zcsi-node on every client: clients with a pool hold volumes, the others only mount them.
#
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there. The driver is one of these:
#
#   raw_exec         a process of the host; `make install` puts the daemon where `program` says
#   docker, podman   a container of jobs/Containerfile, with the rights and the ZFS of the host
#
# exec does not work: mounts in its chroot are invisible to other processes.

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
  description = "Path of Vault's PKI, such as pki; certificates come from its role zcsi."
}

variable "discovery" {
  type        = string
  default     = "nomad"
  description = "Service registry for the agents' addresses: nomad or consul."
}

variable "trash_hours" {
  type        = number
  default     = 72
  description = "For how many hours a deleted volume can be brought back; 0 destroys it at once."
}

variable "trash_free" {
  type        = number
  default     = 5
  description = "With less than so many percent of the pool free, empty the trash early; 0: never."
}

variable "metrics" {
  type        = number
  default     = 0
  description = "Port where Prometheus reads metrics, such as 9464; 0: they are not served."
}

variable "overcommit" {
  type        = number
  default     = 0
  description = "The sizes of all volumes of a client: so many times its pool at most; 0: no limit."
}

variable "limits" {
  type        = list(string)
  default     = []
  description = "PREFIX=BYTES, like prod-=500G: what volumes with such names may have in all."
}

variable "socket" {
  type        = string
  default     = ""
  description = "A further endpoint, unix:///run/zcsi/agent.sock, for zcsi-host-volume."
}

variable "data_dir" {
  type        = string
  default     = "/opt/nomad/data"
  description = "The data_dir of the clients' agents."
}

variable "topology" {
  type        = list(string)
  default     = []
  description = "KEY=VALUE each: where these clients are, for placing volumes."
}

variable "zfs_user" {
  type        = string
  default     = ""
  description = "The user to run zfs as, not in containers; empty: root."
}

variable "rescan" {
  type        = number
  default     = 30
  description = "How often to read the whole pool, in seconds."
}

variable "zfs_timeout" {
  type        = number
  default     = 120
  description = "How long a zfs may take before its call fails, in seconds."
}

variable "max_volumes" {
  type        = number
  default     = 0
  description = "How many volumes may be attached to one client at a time; 0: no limit."
}

variable "allow" {
  type        = list(string)
  default     = []
  description = "More callers, each [SERVICE[/METHOD]=]NAME, like zcsi.v1.Backup=NODE for backups."
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

job "zcsi-node" {
  id          = var.job
  name        = var.job
  datacenters = var.datacenters
  type        = "system"

  group "node" {
    # Restart without limit; by default Nomad gives up after two restarts.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    network {
      port "agent" { static = 9740 }
      dynamic "port" {
        for_each = var.metrics == 0 ? [] : [var.metrics]
        labels   = ["metrics"]
        content {
          static = port.value
        }
      }
    }

    task "zcsi-node" {
      driver = var.driver

      # Calls that run may end, above all mkfs, which leaves half a filesystem when it is killed. A
      # client allows no more than 30 seconds, unless its max_kill_timeout is higher.
      kill_timeout = "30s"

      # The controller and other nodes find this agent by this service. It is the task's, because
      # an allocation whose group cannot register a service fails, and a system job is not placed
      # again: so it would be after a power loss, while the servers have no leader.
      service {
        name     = "zcsi-agent"
        provider = var.discovery
        port     = "agent"
      }

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
        type      = "node"
        mount_dir = "/csi"

        # raw_exec has no mounts of its own, so this is the client's own folder of the plugin:
        # <data_dir>/client/csi/node/<csi_plugin id>. A container has that folder at the same path.
        stage_publish_base_dir = "${var.data_dir}/client/csi/node/zcsi"
      }

      config {
        command = var.program
        args = concat(var.socket == "" ? [] : ["--agent-endpoint", var.socket], [
          "--node-id", "${node.unique.name}",
          "--dataset", var.dataset,
          "--agent-endpoint", "tcp://${NOMAD_ADDR_agent}",
          "--agents-file", "${NOMAD_TASK_DIR}/agents",
          "--address", "${NOMAD_IP_agent}",
          "--nomad-data-dir", var.data_dir,
          "--trash-ttl", "${var.trash_hours * 3600}",
          "--trash-free", "${var.trash_free}",

          # A caller of the agent can create and destroy volumes, so only the controller's
          # certificate is allowed to do that. Other nodes may ask which node this is, and keep
          # copies of their volumes here. jobs/local/certs creates certificates.
          "--tls-ca", "${local.folder}/ca.pem",
          "--tls-cert", "${local.folder}/${node.unique.name}.pem",
          "--tls-key", "${local.folder}/${node.unique.name}.${local.key}",
          "--allow", "zcsi.v1.Agent=controller.zcsi",
          "--allow", "zcsi.v1.Agent=operator.zcsi",
          "--allow", "zcsi.v1.Copy=operator.zcsi",
          "--allow", "zcsi.v1.Agent/GetHost=node.zcsi",
          "--allow", "zcsi.v1.Replica=node.zcsi",
          # A node with backups reads all volumes of the others: name only that one, by
          # -var 'allow=["zcsi.v1.Backup=NODE"]'.
        ], flatten([for name in var.allow : ["--allow", name]]))

        image        = local.contained ? var.image : null
        privileged   = local.contained ? true : null
        network_mode = local.contained ? "host" : null
        volumes = local.contained ? [
          "/proc:/host/proc",                # to find the host's zfs
          "/run/zcsi:/run/zcsi",             # for lock files, which exclude a second zcsi-node
          "/var/cache/zcsi:/var/cache/zcsi", # for the names of other hosts, which it keeps
          "/run/udev:/run/udev:ro",          # for block volumes, ext4 and XFS
          "/etc/exports.d:/etc/exports.d",   # this and the next two for attach=nfs
          "/var/lib/nfs:/var/lib/nfs",
          "/run/zcsi-nfs:/run/zcsi-nfs:rshared",
          "${var.certificates}:${var.certificates}:ro",
        ] : null
      }

      # An empty variable counts as not set.
      env {
        ZCSI_TOPOLOGY    = join(" ", var.topology)
        ZCSI_ZFS_USER    = var.zfs_user
        ZCSI_RESCAN      = "${var.rescan}"
        ZCSI_ZFS_TIMEOUT = "${var.zfs_timeout}"
        ZCSI_MAX_VOLUMES = "${var.max_volumes}"
        ZCSI_OVERCOMMIT  = "${var.overcommit}"
        ZCSI_LIMIT       = join(" ", var.limits)
        ZCSI_LOG_LEVEL   = var.log_level
        ZCSI_LOG_FORMAT  = var.log_format

        # Metrics have no TLS, and nothing else goes without it: there are certificates.
        ZCSI_METRICS  = var.metrics == 0 ? "" : "tcp://$${NOMAD_ADDR_metrics}"
        ZCSI_INSECURE = var.metrics == 0 ? "" : "true"
      }

      # The daemon reads the file when it calls another node.
      template {
        data        = local.agents[var.discovery]
        destination = "local/agents"
        change_mode = "noop"
      }

      # A certificate for the client's names and address, renewed before it expires.
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
            {{- $dns := env "node.unique.name" | printf "alt_names=%s.node.consul,node.zcsi" }}
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
