/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_WORLD_H
#define ZCSI_FUZZ_WORLD_H

/* A simulated machine: a clock, libevent's events, sockets and worker threads, all in one thread.
 * Nothing happens by itself: the fuzzer lets a peer connect, send, read or close, lets time pass,
 * and lets a worker run. Library functions are replaced by the linker.
 *
 * Invariants, checked at every step: all ready events are handled in a bounded number of turns; a
 * descriptor is used only while it is open and closed once; a line of the log is a line of text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin and end one input. At the end no event, socket or connection may be left. */
void world_begin(void);
void world_end(void);

/* Handle ready events until none is left. */
void world_turn(void);
/* Let time pass; timers run when they are due. */
void world_pass(int64_t ms);
int64_t world_now_ms(void);

/* Run the queued works of the workers. world_turn() handles their results. */
void world_work(void);
/* Called repeatedly while the code under test waits for a semaphore, until it is posted. */
extern void (*world_meanwhile)(void);

/* The local end of a connection. The fuzzer is its peer. */
struct world_socket {
	int fd;
	bool open, listens;
	bool write_closed;  /* the local side has shut down writing */
	unsigned n_waiting; /* connections that wait for accept() */

	const uint8_t *incoming; /* bytes from the peer that are not yet read */
	size_t n_incoming;
	bool peer_closed; /* the peer has shut down writing */
	int failure;      /* errno of further calls, or 0 */
	size_t room;      /* bytes that can be sent until the peer reads */

	/* Gets the bytes that the local side sends. */
	void (*on_data)(struct world_socket *socket, const uint8_t *bytes, size_t n);
	void *peer;
};

/* Returns socket number i in order of creation, from 0, or NULL. */
struct world_socket *world_socket(unsigned i);
/* Returns the template of the next socket, made by socket() or accept4(). */
struct world_socket *world_expect(void);

/* The state of a descriptor, for world_events.c. */
bool world_is_readable(int fd);
bool world_is_writable(int fd);
void world_check_events(void);
void world_check_sockets(void);

#endif
