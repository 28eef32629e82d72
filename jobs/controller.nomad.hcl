# zcsi-controller: anywhere, once or more often. It holds no state and needs no privilege.
#
# Nomad sets CSI_ENDPOINT, and the daemon serves CSI there.

job "zcsi-controller" {
  datacenters = ["*"]
  type        = "service"

  group "controller" {
    count = 1

    task "zcsi-controller" {
      driver = "raw_exec"

      csi_plugin {
        id        = "zcsi"
        type      = "controller"
        mount_dir = "/csi"
      }

      config {
        command = "/usr/local/sbin/zcsi-controller"
        args = [
          "--tls-ca", "/etc/zcsi/ca.pem",
          "--tls-cert", "/etc/zcsi/controller.zcsi.pem",
          "--tls-key", "/etc/zcsi/controller.zcsi.key",
        ]
      }

      # Every agent that zcsi-node registered. The task restarts when one comes or goes.
      template {
        data        = <<-END
          ZCSI_AGENT="{{ range nomadService "zcsi-agent" }}tcp://{{ .Address }}:{{ .Port }} {{ end }}"
        END
        destination = "local/agents.env"
        env         = true
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
