# Create a snapshot of each volume every hour and delete all but the newest ones this job created.
#
# At 13 o'clock the snapshot of the volume `database` gets the name
# default.database-hourly-20260131T130000Z. It begins with the job's namespace, because it must be
# unique in the cluster. Snapshots made by hand or by another `job` are kept. If a snapshot cannot
# be created, the task fails and no snapshot of that volume is deleted. The task also fails if the
# names of namespace, volume and job are so long that zcsi shortens the id of the snapshot.
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

          # taken ID: print the ids that differ from this one in the time alone, oldest first.
          taken() {
                  listed=$(${var.program} volume snapshot list -plugin zcsi -per-page 0) || return
                  echo "$listed" | cut -d ' ' -f 1 | awk -v id="$1" -v now="$now" '
                          { begin = substr(id, 1, length(id) - length(now)) }
                          index($0, begin) == 1 &&
                          substr($0, length(begin) + 1) ~ /^[0-9]+T[0-9]+Z$/' | sort
          }

          take() {
                  made=$(${var.program} volume snapshot create "$1" \
                          "$NOMAD_NAMESPACE.$1-${var.job}-$now") || return
                  echo "$made"
                  id=$(echo "$made" | tail -n 1 | cut -d ' ' -f 1)
                  case $id in
                  *-"$now") ;;
                  *)
                          echo "snapshot $id has no time in its id: choose a shorter job" >&2
                          ${var.program} volume snapshot delete zcsi "$id"
                          return 1
                          ;;
                  esac
                  all=$(taken "$id") || return
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
