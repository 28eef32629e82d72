# Two web servers, on two clients, of the files in the volume of shared.volume.hcl.
#
# Debian's busybox; the port is one that Nomad finds.

job "shared" {
  datacenters = ["*"]
  type        = "service"

  group "web" {
    count = 2

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    network {
      port "http" {}
    }

    service {
      name     = "shared"
      provider = "nomad"
      port     = "http"
    }

    volume "files" {
      type            = "csi"
      source          = "shared"
      access_mode     = "multi-node-multi-writer"
      attachment_mode = "file-system"
    }

    task "busybox" {
      driver = "exec"

      config {
        command = "/bin/busybox"
        args    = ["httpd", "-f", "-p", "${NOMAD_PORT_http}", "-h", "/files"]
      }

      volume_mount {
        volume      = "files"
        destination = "/files"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
