# Two web servers on two clients, serving the files in the volume of shared.volume.hcl.
#
# They are Debian's busybox; Nomad chooses a free port.

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
