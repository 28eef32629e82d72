# Back up volumes with restic every night, each from a snapshot that is mounted read-only meanwhile.
#
# Run it on the client that holds the volumes, or copies of them: -var node=node-1. The client needs
# restic, and as root the list of agents and the certificate that the command zcsi uses; see "What
# zcsi shows" in jobs/README.md. Make the repository once, with the same file of its password:
#
#   restic -r /srv/restic -p /etc/zcsi/restic-password init
#
# Each volume is at the same path in every backup, FOLDER/VOLUME, so restic finds what has not
# changed. A run that is killed leaves its snapshot, whose name begins with zcsi-: the list of
# 'zcsi snapshots' has it, and 'zcsi snapshot SNAPSHOT --drop' destroys it.

variable "node" {
  type    = string
  default = "node-1"
}

variable "volumes" {
  type    = list(string)
  default = ["default.database"]
}

variable "repository" {
  type    = string
  default = "/srv/restic"
}

variable "password_file" {
  type    = string
  default = "/etc/zcsi/restic-password"
}

variable "program" {
  type    = string
  default = "zcsi"
}

variable "cron" {
  type    = string
  default = "@daily"
}

job "restic" {
  datacenters = ["*"]
  type        = "batch"

  constraint {
    attribute = "${node.unique.name}"
    value     = var.node
  }

  periodic {
    crons            = [var.cron]
    prohibit_overlap = true
  }

  group "restic" {
    task "restic" {
      driver = "raw_exec"

      env {
        VOLUMES              = join(" ", var.volumes)
        ZCSI                 = var.program
        FOLDER               = "/run/zcsi-restic"
        RESTIC_REPOSITORY    = var.repository
        RESTIC_PASSWORD_FILE = var.password_file
        RESTIC_CACHE_DIR     = "/var/cache/restic"
      }

      config {
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/backup"]
      }

      template {
        data        = <<-END
          set -uf
          failed=0

          unmounted() {
                  ! mountpoint -q "$1" || umount "$1"
          }

          backup() {
                  at=$FOLDER/$1
                  mkdir -p "$at" && unmounted "$at" || return
                  taken=$("$ZCSI" -H snapshot "$1") || return
                  snapshot=$(echo "$taken" | cut -f 1)
                  "$ZCSI" snapshot mount "$snapshot" "$at" && restic backup "$at"
                  status=$?
                  unmounted "$at" && "$ZCSI" snapshot "$snapshot" --drop || status=1
                  return $status
          }

          for volume in $VOLUMES; do
                  backup "$volume" || failed=1
          done
          exit $failed
        END
        destination = "local/backup"
      }

      resources {
        cpu    = 500
        memory = 512
      }
    }
  }
}
