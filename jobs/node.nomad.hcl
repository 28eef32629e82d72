# zcsi-node, on every client: the ones with a pool keep volumes in it, the others only mount.
#
# raw_exec, because zfs(8) and the mounts belong to the host: the client's `raw_exec` plugin must
# be enabled and its agent run as root. `make install` puts the daemon where `command` says.
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there.

job "zcsi-node" {
  datacenters = ["*"]
  type        = "system"

  group "node" {
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
        stage_publish_base_dir = "/opt/nomad/data/client/csi/node/zcsi"
      }

      config {
        command = "/usr/local/sbin/zcsi-node"
        args = [
          "--node-id", "${node.unique.name}",
          "--dataset", "tank/zcsi",
          "--agent-endpoint", "tcp://${NOMAD_ADDR_agent}",

          # Whoever calls the agent can create and destroy volumes: that is the controller alone,
          # by its certificate. jobs/local/certs makes them.
          "--tls-ca", "/etc/zcsi/ca.pem",
          "--tls-cert", "/etc/zcsi/${node.unique.name}.pem",
          "--tls-key", "/etc/zcsi/${node.unique.name}.key",
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
