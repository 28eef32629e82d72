/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FLEET_H
#define ZCSI_CLI_FLEET_H

/*
 * The agents that a command asks, all of them at once: an agent that is down costs the command one
 * --timeout. Answers live in the arena. Main thread only.
 */

#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/client.h"
#include "transport/trust.h"

struct fleet;
struct fleet_options {
	const struct option_list *named; /* --agent */
	const char *file;                /* --agents-file; NULL: none */
	const struct trust *trust;       /* certificates, whose files were read */
	int64_t timeout_ms;              /* limit of one request to all agents */
	bool only_reads;                 /* abort before a call that changes something */
};

/*
 * If no --tls option is given, use the CA and the first readable certificate of a folder: that of
 * an operator, or of the controller, which every agent permits; a node's own is of no use. Without
 * any, trust is unchanged. The paths are in the arena.
 */
void fleet_credentials(struct trust *trust, const char *folder, struct arena *arena);

/* Returns 0, or -1: an endpoint is malformed, or the file cannot be read. */
int fleet_open(struct fleet **ret, const struct fleet_options *options, struct error *err);
void fleet_close(struct fleet *fleet);
/* Parse the value of --timeout, seconds. Returns 0, or -1 with *err. */
int fleet_timeout(const char *text, int64_t *ret_ms, struct error *err);
void fleet_limit(struct fleet *fleet, int64_t timeout_ms); /* the timeout of later calls */

struct member {
	size_t at; /* the number of the agent */
	const char *endpoint;
	const GetHostResponse *host; /* NULL if it does not answer */
	const char *node;            /* the node id, or the endpoint if it does not answer */
	struct error error;
	struct tls_certificate certificate; /* shown by the agent; names is NULL if none is */
};

/* Begin a call at agent `at`, finished as in client.h. fleet_begin_long waits least_ms or more. */
struct client_call *fleet_begin(struct fleet *fleet, struct arena *arena, size_t at,
				const char *method, const ProtobufCMessage *request);
struct client_call *fleet_begin_long(struct fleet *fleet, struct arena *arena, size_t at,
				     const char *method, const ProtobufCMessage *request,
				     int64_t least_ms);

struct reply {
	void *response; /* NULL after an error */
	struct error error;
};

/* Ask every agent, or one. Returns a reply for each, in the order of the members. */
struct reply *fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			const ProtobufCMessage *request);
struct reply fleet_ask_member(struct fleet *fleet, struct arena *arena, const struct member *member,
			      const char *method, const ProtobufCMessage *request);

/* Ask every agent who it is. An agent with two endpoints becomes one member. *ret_n: at least 1. */
struct member *fleet_members(struct fleet *fleet, struct arena *arena, size_t *ret_n);
/* Ask a further endpoint who it is, by the one fleet_dial. Sets neither node nor certificate. */
struct member fleet_who(struct fleet *fleet, struct arena *arena, const char *endpoint);

/* Connect for a stream, once for a fleet. fleet_close frees *ret, and waits for no stream. */
int fleet_dial(struct fleet *fleet, const struct member *member, struct client **ret,
	       struct error *err);
/* Run a task on the loop, where streams are begun. */
void fleet_post(struct fleet *fleet, struct loop_task *task);

#endif
