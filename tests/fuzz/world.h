/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_WORLD_H
#define ZCSI_FUZZ_WORLD_H

/*
 * The machine as a fuzzer has it: a clock, libevent's events, sockets and worker threads, all in
 * this one thread. Nothing happens by itself: a fuzzer has a peer come, speak, listen or leave, has
 * time pass, has a worker work. Functions of the libraries are replaced when the program is linked.
 *
 * Invariants, held at every step: what is ready is dealt with in a bounded number of turns; a
 * descriptor is used from its making to its closing, once; a line of the log is a line of text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before and after each input. At the end no event, socket or connection may be left. */
void world_begin(void);
void world_end(void);

/* Deal with what is ready, until nothing is. */
void world_turn(void);
/* Time passes, and timers go off when they are due. */
void world_pass(int64_t ms);
int64_t world_now_ms(void);

/* The workers do what there is to do; world_turn sees that it is done. */
void world_work(void);
/* What happens while somebody waits for a semaphore; it must come to an end of its own. */
extern void (*world_meanwhile)(void);

/* One end of a connection, ours; its peer is the fuzzer. */
struct world_socket {
	int fd;
	bool open, listens;
	bool finished;   /* we write no more */
	unsigned coming; /* connections that wait for accept */

	const uint8_t *says; /* what the peer has said and we have not read */
	size_t n_says;
	bool left;   /* the peer writes no more */
	int problem; /* errno of what becomes of it, or 0 */
	size_t room; /* bytes that it takes before the peer must read */

	/* What we said. */
	void (*hears)(struct world_socket *socket, const uint8_t *bytes, size_t n);
	void *peer;
};

/* By its number, from 0 in order of creation, or NULL. */
struct world_socket *world_socket(unsigned i);
/* The next that is made: by accept, when a peer comes, or by connect. */
struct world_socket *world_expect(void);

/* For world_events.c: how things are with a descriptor. */
bool world_is_readable(int fd);
bool world_is_writable(int fd);
void world_check_events(void);
void world_check_sockets(void);

#endif
