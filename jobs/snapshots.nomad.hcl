# Create a snapshot of each volume every hour and delete all but the newest ones this job created.
#
# At 13 o'clock the snapshot of the volume `database` gets the name
# default.database-hourly-20260131T130000Z. It begins with the job's namespace, because it must be
# unique in the cluster. Snapshots made by hand or by another `job` are kept. If a snapshot cannot
# be created, the task fails and no snapshot of that volume is deleted.
#
# The client's own nomad program makes the calls, with the task's identity. If Nomad has ACLs, allow
# them by: nomad acl policy apply -job hourly -namespace default hourly FILE, with
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

          # taken NAME: print the ids of the snapshots named NAME-TIME, oldest first.
          taken() {
                  listed=$(${var.program} volume snapshot list -plugin zcsi -per-page 0) || return
                  echo "$listed" | cut -d ' ' -f 1 | awk -v name="@$1-" '
                          { at = index($0, name) }
                          at && substr($0, at + length(name)) ~ /^[0-9]+T[0-9]+Z$/' | sort -t @ -k 2
          }

          take() {
                  name="$NOMAD_NAMESPACE.$1-${var.job}"
                  ${var.program} volume snapshot create "$1" "$name-$now" || return
                  all=$(taken "$name") || return
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
