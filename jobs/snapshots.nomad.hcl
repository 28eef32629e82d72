# Takes a snapshot of each volume every hour, and deletes all but the newest of its own.
#
# The one of `database` at 13 o'clock is database@database-hourly-20260131T130000Z, for the name of
# a snapshot is one volume's only. Others, by hand or of another `job`, are left alone. What cannot
# be taken fails the task, and then nothing of that volume is deleted.
#
# The client's own nomad takes and deletes them, with the task's identity. Where Nomad has ACLs,
# this lets it: nomad acl policy apply -job hourly -namespace default hourly FILE, with
#
#   namespace "default" { capabilities = ["csi-read-volume", "csi-write-volume"] }
#   plugin { policy = "read" }

variable "job" {
  type    = string
  default = "hourly"
}

variable "program" {
  type    = string
  default = "nomad"
}

variable "volumes" {
  type    = list(string)
  default = ["database"]
}

variable "keep" {
  type    = number
  default = 24
}

variable "cron" {
  type    = string
  default = "@hourly"
}

job "snapshots" {
  id          = var.job
  name        = var.job
  datacenters = ["*"]
  type        = "batch"

  periodic {
    crons            = [var.cron]
    prohibit_overlap = true
  }

  group "snapshots" {
    task "snapshots" {
      driver = "raw_exec"

      identity {
        env = true
      }
      env {
        NOMAD_ADDR = "unix://${NOMAD_SECRETS_DIR}/api.sock"
        VOLUMES    = join(" ", var.volumes)
        KEEP       = var.keep
      }

      config {
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/snapshots"]
      }

      template {
        data        = <<-END
          set -uf
          now=$(date -u +%Y%m%dT%H%M%SZ)
          failed=0

          # Of the volume $1, oldest first.
          taken() {
                  listed=$(${var.program} volume snapshot list -plugin zcsi -per-page 0) || return
                  echo "$listed" | cut -d ' ' -f 1 |
                          awk -v of="$1@" -v own="-${var.job}-[0-9]+T[0-9]+Z$" \
                                  'index($0, of) == 1 && $0 ~ own' | sort
          }

          take() {
                  ${var.program} volume snapshot create "$1" "$1-${var.job}-$now" || return
                  all=$(taken "$1") || return
                  for id in $(echo "$all" | head -n "-$KEEP"); do
                          ${var.program} volume snapshot delete zcsi "$id" || return
                  done
          }

          for volume in $VOLUMES; do
                  take "$volume" || failed=1
          done
          exit $failed
        END
        destination = "local/snapshots"
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
