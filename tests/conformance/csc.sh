# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Commands of csc as an operator types them, each with the output it should have. Sourced by run,
# which sets node, controller, socket, run and tools.

csc() {
	"$tools/csc" -t "${HOST_DEADLINE}s" "$@"
}

INVALID_ARGUMENT=3
NOT_FOUND=5
ALREADY_EXISTS=6
FAILED_PRECONDITION=9
ABORTED=10

MIB=1048576
TAB=$'\t'
NL=$'\n'
# A regex for the name vol[0]: Nomad names the volumes of a task group with per_alloc like this.
array='vol\[0\]'
writer=SINGLE_NODE_WRITER,mount,zfs

check_identity() {
	local at
	for at in "$node" "$controller" "$socket"; do
		says "^\"zcsi.zfs\"$TAB\"[0-9]+\.[0-9]+\.[0-9]+\"" csc -e "$at" identity plugin-info
				# csc does not know group snapshots and prints the capability's
				# number.
		says "^CONTROLLER_SERVICE${NL}VOLUME_ACCESSIBILITY_CONSTRAINTS${NL}3${NL}ONLINE\$" \
			csc -e "$at" identity plugin-capabilities
		says '^true$' csc -e "$at" identity probe
	done
}

check_create() {
	says "^\"traefik-acme\"$TAB$((16 * MIB))" csc -e "$controller" controller create-volume \
		traefik-acme --req-bytes $((16 * MIB)) --cap $writer
	says "^\"traefik-acme\"$TAB$((16 * MIB))" csc -e "$socket" controller create-volume \
		traefik-acme --req-bytes $((16 * MIB)) --cap $writer
	says "^\"$array\"$TAB$((32 * MIB))" csc -e "$controller" controller create-volume \
		'vol[0]' --req-bytes $((32 * MIB)) --cap 1,mount,
	fails $ALREADY_EXISTS 'traefik-acme' csc -e "$controller" controller create-volume \
		traefik-acme --req-bytes $((64 * MIB)) --cap $writer
	fails $INVALID_ARGUMENT 'capabilit' csc -e "$controller" controller create-volume \
		other --req-bytes $((16 * MIB))
	fails $INVALID_ARGUMENT . csc -e "$controller" controller create-volume \
		other --req-bytes $((16 * MIB)) --lim-bytes $((8 * MIB)) --cap $writer
}

check_list() {
	local token
	says "\"traefik-acme\"$TAB$((16 * MIB)).*\"$array\"$TAB$((32 * MIB))" \
		csc -e "$controller" controller list-volumes
	says "^\"traefik-acme\"$TAB$((16 * MIB))[^$NL]*${NL}token=\"[^\"]+\"$" \
		csc -e "$controller" controller list-volumes --max-entries 1
	token=$(csc -e "$controller" controller list-volumes --max-entries 1 |
		sed -n 's/^token="\(.*\)"$/\1/p')
	says "^\"$array\"$TAB$((32 * MIB))[^$NL]*$" \
		csc -e "$controller" controller list-volumes --max-entries 1 --starting-token "$token"
	says "\"traefik-acme\".*\"$array\"" \
		csc -e "$controller" controller list-volumes --paging --max-entries 1
	fails $ABORTED 'token' csc -e "$controller" controller list-volumes --starting-token nonsense
}

check_questions() {
	says "^\"traefik-acme\"$TAB.*fs_type:\"zfs\".*SINGLE_NODE_WRITER" csc -e "$controller" controller \
		validate-volume-capabilities traefik-acme --cap $writer
	says "^\"traefik-acme\".*$TAB\".*MULTI_NODE_MULTI_WRITER is not supported" csc -e "$controller" \
		controller validate-volume-capabilities traefik-acme --cap 5,mount,
	fails $NOT_FOUND 'nobody' csc -e "$controller" controller \
		validate-volume-capabilities nobody --cap $writer
	says '^[1-9][0-9]{6,}$' csc -e "$controller" controller get-capacity
	says 'CREATE_DELETE_VOLUME.*EXPAND_VOLUME' csc -e "$controller" controller get-capabilities
	says "^conformance${TAB}20$TAB.*zcsi\.zfs/node" csc -e "$node" node get-info
	says '^&\{type:STAGE_UNSTAGE_VOLUME \}' csc -e "$node" node get-capabilities
}

check_snapshots() {
	local size=$((16 * MIB))
	says "^\"traefik-acme@one\"$TAB$size${TAB}traefik-acme$TAB.*true$" csc -e "$controller" \
		controller create-snapshot one --source-volume traefik-acme
	says "^\"traefik-acme@one\"" csc -e "$socket" \
		controller create-snapshot one --source-volume traefik-acme
	fails $ALREADY_EXISTS 'source_volume_id' csc -e "$controller" \
		controller create-snapshot one --source-volume 'vol[0]'
	fails $NOT_FOUND 'nobody' csc -e "$controller" \
		controller create-snapshot two --source-volume nobody
	says "^\"$array@two\"" csc -e "$controller" \
		controller create-snapshot two --source-volume 'vol[0]'
	says "\"traefik-acme@one\".*\"$array@two\"" csc -e "$controller" controller list-snapshots
	says "^\"$array@two\"[^$NL]*$" csc -e "$controller" controller list-snapshots \
		--source-volume-id 'vol[0]'
	says '^$' csc -e "$controller" controller list-snapshots --snapshot-id nobody@one
	fails $ABORTED 'token' csc -e "$controller" controller list-snapshots --starting-token nonsense
	says "^$array@two$" csc -e "$controller" controller delete-snapshot 'vol[0]@two'
	says "^$array@two$" csc -e "$controller" controller delete-snapshot 'vol[0]@two'
}

check_attach() {
	says '^"traefik-acme"' csc -e "$controller" controller publish traefik-acme \
		--node-id conformance --cap $writer
	says '^"traefik-acme"' csc -e "$controller" controller publish traefik-acme \
		--node-id conformance --cap $writer
	fails $NOT_FOUND 'elsewhere' csc -e "$controller" controller publish traefik-acme \
		--node-id elsewhere --cap $writer
	fails $NOT_FOUND 'nobody' csc -e "$controller" controller publish nobody \
		--node-id conformance --cap $writer
	fails $INVALID_ARGUMENT 'capability' csc -e "$controller" controller publish traefik-acme \
		--node-id conformance
	fails $FAILED_PRECONDITION 'traefik-acme' csc -e "$controller" controller delete-volume \
		traefik-acme
}

check_mount() {
	local staging=$run/staging target=$run/target
	mkdir "$staging"
	says '^traefik-acme$' csc -e "$node" node stage traefik-acme \
		--staging-target-path "$staging" --cap $writer
	says '^traefik-acme$' csc -e "$node" node publish traefik-acme \
		--staging-target-path "$staging" --target-path "$target" --cap $writer
	says '' mountpoint -q "$target"
	says '' dd if=/dev/zero of="$target/file" bs=1M count=4 status=none
	fails $NOT_FOUND 'nobody' csc -e "$node" node stage nobody \
		--staging-target-path "$staging" --cap $writer
	fails $INVALID_ARGUMENT 'target_path' csc -e "$node" node publish traefik-acme \
		--staging-target-path "$staging" --cap $writer
	fails $FAILED_PRECONDITION 'staging' csc -e "$node" node publish traefik-acme \
		--target-path "$run/other" --cap $writer
	fails $FAILED_PRECONDITION "$target" csc -e "$node" node publish traefik-acme \
		--staging-target-path "$staging" --target-path "$run/other" --cap $writer
	says '^traefik-acme$' csc -e "$node" node unpublish traefik-acme --target-path "$run/other"
	fails $FAILED_PRECONDITION "$target" csc -e "$node" node unstage traefik-acme \
		--staging-target-path "$staging"
}

# Check that 40 MiB do not fit into the volume of 16 MiB, but do after it grows to 64 MiB.
check_expand() {
	local target=$run/target
	fails 1 '' dd if=/dev/urandom of="$target/file" bs=1M count=40 status=none
	rm -f "$target/file"
	says "^$((32 * MIB))$" csc -e "$controller" controller expand-volume traefik-acme \
		--req-bytes $((32 * MIB))
	says "^$((64 * MIB))$" csc -e "$socket" controller expand-volume traefik-acme \
		--req-bytes $((64 * MIB))
	says "^$((64 * MIB))$" csc -e "$controller" controller expand-volume traefik-acme \
		--req-bytes $((16 * MIB))
	fails $NOT_FOUND 'nobody' csc -e "$controller" controller expand-volume nobody \
		--req-bytes $((64 * MIB))
	says '' dd if=/dev/urandom of="$target/file" bs=1M count=40 status=none
}

check_unmount() {
	local staging=$run/staging target=$run/target
	says '^traefik-acme$' csc -e "$node" node unpublish traefik-acme --target-path "$target"
	says '^traefik-acme$' csc -e "$node" node unpublish traefik-acme --target-path "$target"
	fails 1 '' test -e "$target"
	says '^traefik-acme$' csc -e "$node" node publish traefik-acme --read-only \
		--staging-target-path "$staging" --target-path "$target" --cap $writer
	fails 1 'Read-only file system' touch "$target/other"
	says '^41943040$' stat -c %s "$target/file"
	says '^traefik-acme$' csc -e "$node" node unpublish traefik-acme --target-path "$target"
	says '^traefik-acme$' csc -e "$node" node unstage traefik-acme --staging-target-path "$staging"
	says '^traefik-acme$' csc -e "$node" node unstage traefik-acme --staging-target-path "$staging"
	fails 32 '' mountpoint -q "$staging"
	says '' rmdir "$staging"
}

check_delete() {
	says '^traefik-acme$' csc -e "$controller" controller unpublish traefik-acme \
		--node-id conformance
	says '^traefik-acme$' csc -e "$controller" controller unpublish traefik-acme
	says '^traefik-acme$' csc -e "$controller" controller delete-volume traefik-acme
	says '^traefik-acme$' csc -e "$controller" controller delete-volume traefik-acme
	says "^$array$" csc -e "$socket" controller delete-volume 'vol[0]'
	says '^$' csc -e "$controller" controller list-volumes
	# A snapshot outlives its volume.
	says "^\"traefik-acme@one\"[^$NL]*$" csc -e "$controller" controller list-snapshots
	says '^traefik-acme@one$' csc -e "$controller" controller delete-snapshot traefik-acme@one
	says '^$' csc -e "$controller" controller list-snapshots
}

check_csc() {
	echo "# csc, as typed"
	check_identity
	check_create
	check_list
	check_questions
	check_snapshots
	check_attach
	check_mount
	check_expand
	check_unmount
	check_delete
}
