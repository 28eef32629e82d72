/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The values of the transport's limits. The numbers are generous for CSI, which has a handful of
 * clients and requests of a few hundred bytes, and small compared with the memory of a host. A
 * client that cancels calls is not an attacker: the limits on resets leave room for a controller
 * that cancels many calls at once.
 */
#include "transport/limits.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* Initialisers that both tables share. */
/* clang-format off */
#define COMMON                           \
	.connections = 256,               \
	.handshaking = 192,               \
	.accepts = 16,                    \
	.reads = 4,                       \
	.written = MIB,                   \
	.streams = 100,                   \
	.connection_calls = 100,          \
	.calls = 2000,                    \
	.queued = 64 * KIB,               \
	.header_list = 16 * KIB,          \
	.message = 4 * MIB,               \
	.decoded = 16 * MIB,              \
	.decoded_base = MIB,              \
	.decoded_per_byte = 8,            \
	.nesting = 16,                    \
	.resets_received = 1000,          \
	.resets_per_second = 100,         \
	.resets_sent = 32,                \
	.pings = 100,                     \
	.pending_acks = 100,              \
	.frames = 1000,                   \
	.continuations = 4,               \
	.handshake = 32 * KIB,            \
	.key_updates = 32,                \
	.overhead = MIB,                  \
	.log_lines = 1000,                \
	.rate_ms = 10000,                 \
	.handshake_ms = 5000,             \
	.settings_ack_ms = 10000,         \
	.receive_ms = 10000,              \
	.drain_ms = 3000,                 \
	.linger_ms = 1000,                \
	.goaway_ms = 1000,                \
	.connect_ms = 5000,               \
	.happy_eyeballs_ms = 250,         \
	.pause_ms = 100,                  \
	.pause_most_ms = 10000,           \
	.wait_ms = 2000,                  \
	.ping_ms = 5000,                  \
	.repeats = 3,                     \
	.call_ms = 120000,                \
	.silence_ms = 30000,              \
	.keepalive_interval_ms = 5000,    \
	.keepalive_probes = 4,            \
	.unacked_ms = 30000,              \
	.accept_ms = 100,                 \
	.http_connections = 16,           \
	.http_request = 8 * KIB,          \
	.http_connection_ms = 10000
/* clang-format on */

const struct limits limits_default = {
	COMMON,
	.stream_window = 256 * KIB,
	.connection_window = 4 * MIB,
	.frame = 16 * KIB,
	.messages = 16 * MIB,
	.write_ms = 30000,
};

/*
 * The windows hold the bytes of one round trip: 4 MiB allow 10 Gb/s over 3 ms. A stream that a
 * server receives has the window of limits_default, which pump_in enlarges.
 */
const struct limits limits_bulk = {
	COMMON,
	.stream_window = 4 * MIB,
	.connection_window = 4 * MIB,
	.frame = 64 * KIB,
	.messages = 64 * MIB,
	.write_ms = 120000,
};
