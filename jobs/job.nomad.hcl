# A workload that keeps its data in the volume of volume.hcl. A volume is on one node, and Nomad
# places the job there, because zcsi tells it where the volume is.

job "traefik" {
  datacenters = ["*"]
  type        = "service"

  group "traefik" {
    volume "acme" {
      type            = "csi"
      source          = "traefik-acme"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }

    task "traefik" {
      driver = "docker"

      config {
        image = "traefik:v3"
      }

      volume_mount {
        volume      = "acme"
        destination = "/acme"
      }
    }
  }
}
