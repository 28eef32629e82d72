# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2154
#
# grpcurl and grpc_health_probe with both daemons. They get no .proto file: they learn the services
# by reflection. Sourced by run.

RPC_FAILED=3 # the exit status of grpc_health_probe
STATUS_IS=64 # added to the gRPC code in the exit status of grpcurl

# Options of grpcurl and of grpc_health_probe: plain text, or TLS with certificates.
by_grpcurl=()
by_probe=()

grpcurl() {
	"$tools/grpcurl" "${by_grpcurl[@]}" -max-time 20 "$@"
}

grpc_health_probe() {
	"$tools/grpc-health-probe" "${by_probe[@]}" -connect-timeout 5s -rpc-timeout 5s "$@"
}

# Print a regex that matches exactly these lines, in this order.
lines() {
	local IFS=$NL
	printf '^%s$' "$*"
}

every_endpoint_has=(grpc.health.v1.Health grpc.reflection.v1.ServerReflection
	grpc.reflection.v1alpha.ServerReflection)

# check_grpcurl SERVICES WORD...: check that a daemon has these services; the words are grpcurl's
# arguments for the daemon's address.
check_grpcurl() {
	local services=$1
	shift
	# shellcheck disable=SC2086
	says "$(lines $services "${every_endpoint_has[@]}")" grpcurl "$@" list
	says 'rpc Probe \( \.csi\.v1\.ProbeRequest \) returns \( \.csi\.v1\.ProbeResponse \);' \
		grpcurl "$@" describe csi.v1.Identity
	says '"name": "zcsi\.zfs"' grpcurl "$@" csi.v1.Identity/GetPluginInfo
	says '"ready": true' grpcurl "$@" csi.v1.Identity/Probe
	says '"status": "SERVING"' grpcurl "$@" grpc.health.v1.Health/Check
	fails 1 'does not include a method named "Nothing"' grpcurl "$@" csi.v1.Identity/Nothing
}

wanted() {
	tr -d '\n\t' <<-END
		{"name": "$1", "capacity_range": {"required_bytes": $((16 * MIB))},
		 "volume_capabilities":
		 {"mount": {}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}}
	END
}

check_grpcurl_controller() {
	local name=by-grpcurl
	check_grpcurl 'csi.v1.Controller csi.v1.GroupController csi.v1.Identity' "$@"
	says 'map<string, string> parameters = 4' grpcurl "$@" describe csi.v1.CreateVolumeRequest
	says "\"volumeId\": \"$name\"" grpcurl -d "$(wanted "$name")" \
		"$@" csi.v1.Controller/CreateVolume
	fails $((STATUS_IS + INVALID_ARGUMENT)) 'Code: InvalidArgument' \
		grpcurl -d '{"name": "other"}' "$@" csi.v1.Controller/CreateVolume
	says "\"volumeId\": \"$name\"" grpcurl "$@" csi.v1.Controller/ListVolumes
	says '^\{\}$' grpcurl -d "{\"volume_id\": \"$name\"}" "$@" csi.v1.Controller/DeleteVolume
}

check_grpcurl_node() {
	check_grpcurl 'csi.v1.Identity csi.v1.Node' "$@"
	says 'string staging_target_path = 3' grpcurl "$@" describe csi.v1.NodeStageVolumeRequest
	says '"nodeId": "conformance"' grpcurl "$@" csi.v1.Node/NodeGetInfo
	fails $((STATUS_IS + NOT_FOUND)) 'Code: NotFound.*nobody' grpcurl \
		-d '{"volume_id": "nobody", "volume_path": "/"}' "$@" csi.v1.Node/NodeGetVolumeStats
}

# check_health SERVICE ADDRESS: check the health of the daemon and of one of its services.
check_health() {
	says '^status: SERVING$' grpc_health_probe -addr "$2"
	says '^status: SERVING$' grpc_health_probe -addr "$2" -service "$1"
	fails $RPC_FAILED 'NotFound.*nobody' grpc_health_probe -addr "$2" -service nobody
}

check_tcp() {
	check_grpcurl_controller "$controller_address"
	check_grpcurl_node "$node_address"
	check_health csi.v1.Controller "$controller_address"
	check_health csi.v1.Node "$node_address"
}

check_probes() {
	by_grpcurl=(-plaintext)
	by_probe=()
	echo "# grpcurl and grpc_health_probe: plain text"
	check_grpcurl_controller -unix "${socket#unix://}"
	check_grpcurl_node -unix "${node#unix://}"
	check_health csi.v1.Controller "$socket"
	check_health csi.v1.Node "$node"
	check_tcp
}

check_probes_over_tls() {
	local ca=$certs/ca.pem cert=$certs/localhost.pem key=$certs/localhost.key
	echo "# grpcurl and grpc_health_probe: mutual TLS"
	by_grpcurl=(-cacert "$ca" -cert "$cert" -key "$key")
	by_probe=(-tls -tls-ca-cert "$ca" -tls-client-cert "$cert" -tls-client-key "$key")
	check_tcp
	by_grpcurl=(-cacert "$ca")
	fails 1 'Failed to dial' grpcurl "$controller_address" list
	by_grpcurl=(-plaintext)
	fails 1 'Failed to dial' grpcurl "$node_address" list
}
