# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash disable=SC2154
#
# gRPC's three implementations and our transport, over tests/transport/echo.proto: our server with
# their clients, their servers with our client, each case over a unix socket and over mutual TLS;
# and our client with a server that ends streams and connections early. A case has passed if the
# client prints "ok CASE". Sourced by run.

CALLS=(empty_unary large_unary custom_metadata status_code_and_message special_status_message
	unimplemented_method unimplemented_service timeout_on_sleeping_server client_streaming
	server_streaming ping_pong empty_stream cancel_after_begin cancel_after_first_response)
# The cases for clients of gRPC's implementations: zcsi's client does not compress.
CALLS_OF_OTHERS=("${CALLS[@]}" client_compressed_unary)
MISDEEDS=(goaway rst_after_header rst_during_data rst_after_data ping max_streams)

interop=$here/interop
echo_tools=$BUILD/tests/transport
declare -A PEERS=(
	[grpc-go]="$tools/interop/go"
	[grpc-js]="node $tools/interop/js/main.js tests/transport/echo.proto"
	[grpcio]="env PYTHONPATH=$tools/interop/py /usr/bin/python3 $interop/grpcio.py"
)

is_served() {
	if [[ $1 == unix://* ]]; then
		[[ -S ${1#unix://} ]]
	else
		: 2>/dev/null <"/dev/tcp/${1/#*:\/\/127.0.0.1:/127.0.0.1/}"
	fi
}

# play TITLE ENDPOINT SERVER CLIENT CASE...: start SERVER, let CLIENT run these cases, and count how
# many passed. SERVER and CLIENT are commands that take the endpoint as their next word.
play() {
	local title="$1, ${2%%://*}" endpoint=$2 server=$3 client=$4 name output
	shift 4
	rm -f "${endpoint#unix://}"
	# shellcheck disable=SC2086
	CERTIFICATES=$certs $server "$endpoint" >"$tools/interop/log" 2>&1 &
	daemons+=($!)
	host_wait_for is_served "$endpoint" ||
		failure "$title: it does not serve: $tools/interop/log"
	# shellcheck disable=SC2086
	output=$(CERTIFICATES=$certs timeout 60 $client "$endpoint" "$@" 2>&1) || true
	for name; do
		if grep -qx "ok $name" <<<"$output"; then
			pass
		else
			failure "$title: $name: $(grep "^not ok $name:" <<<"$output" ||
				tail -n 1 <<<"$output")"
		fi
	done
	echo "$title: $(grep -c '^ok ' <<<"$output") of $#"
	if [[ $server == "$echo_tools"* ]]; then stop; else dismiss; fi
}

check_interop() {
	local endpoint name
	echo "# interoperability"
	for endpoint in "unix://$run/echo.sock" "tcp://127.0.0.1:$((PORT + 2))"; do
		for name in grpc-go grpc-js grpcio; do
			play "$name calls us" "$endpoint" "$echo_tools/echo_server" \
				"${PEERS[$name]} call" "${CALLS_OF_OTHERS[@]}"
			play "we call $name" "$endpoint" "${PEERS[$name]} serve" \
				"$echo_tools/echo_client" "${CALLS[@]}"
		done
		play "we call who breaks off" "$endpoint" "${PEERS[grpc-go]} misbehave" \
			"$echo_tools/echo_client" "${MISDEEDS[@]}"
	done
}
