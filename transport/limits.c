/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The transport's limits as they are in service. The numbers are generous for CSI, whose requests
 * are a few hundred bytes and whose clients are a handful, and small beside what a host has.
 * A client that cancels is not an attacker: the budget for resets leaves room for a controller
 * that gives up many calls at once.
 */
#include "transport/limits.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

const struct limits limits_default = {
	.connections = 256,
	.streams = 100,
	.calls = 2000,
	.stream_window = 256 * KIB,
	.connection_window = 4 * MIB,
	.header_list = 16 * KIB,
	.message = 4 * MIB,
	.messages = 16 * MIB,
	.decoded = 16 * MIB,
	.resets_received = 1000,
	.resets_per_second = 100,
	.resets_sent = 32,
	.pings = 100,
	.pending_acks = 100,
	.frames = 1000,
	.continuations = 4,
	.overhead = MIB,
	.handshake_ms = 5000,
	.settings_ack_ms = 10000,
	.receive_ms = 10000,
	.write_ms = 30000,
	.goaway_ms = 1000,
	.connect_ms = 5000,
	.call_ms = 120000,
};
