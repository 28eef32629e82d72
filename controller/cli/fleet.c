/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The agents of a command: a connection each, a loop on a thread of its own, and questions to all
 * of them at once.
 *
 * Invariant: every call begun is finished before the function that began it returns.
 */
#include "controller/cli/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/agents_dns.h"
#include "common/agents_file.h"
#include "common/clock.h"
#include "common/thread.h"
#include "proto/copy.h"
#include "proto/csi.h"
#include "transport/client.h"

#define SECONDS_MAX 3600 /* the largest --timeout */

/* The names of certificates, the first choice first (jobs/README.md, jobs/systemd). */
static const char *const names[] = {"operator", "controller", "controller.zcsi"};

void fleet_credentials(struct trust *trust, const char *folder, struct arena *arena)
{
	const char *ca = arena_printf(arena, "%s/ca.pem", folder);

	if (trust->ca || trust->certificate || trust->key || access(ca, R_OK) != 0)
		return;
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *certificate = arena_printf(arena, "%s/%s.pem", folder, names[i]);
		const char *key = arena_printf(arena, "%s/%s.key", folder, names[i]);
		if (access(certificate, R_OK) != 0 || access(key, R_OK) != 0)
			continue;
		trust->ca = ca;
		trust->certificate = certificate;
		trust->key = key;
		return;
	}
}

struct fleet {
	struct loop *loop;
	struct loop_task stop;
	pthread_t thread;
	bool started;
	char *text;              /* contents of --agents-file */
	struct client **clients; /* the agents that are asked, then further endpoints of these */
	size_t n, n_open;        /* how many clients are asked, and how many there are */
	struct client *bulk;     /* the connection of a stream; or NULL */
	struct client_options options;
	int64_t timeout_ms;
	bool only_reads;
};

static void *run(void *loop)
{
	loop_run(loop);
	return NULL;
}

static void on_stop(struct loop_task *task)
{
	loop_stop(container_of(task, struct fleet, stop)->loop);
}

void fleet_close(struct fleet *fleet)
{
	if (!fleet)
		return;
	if (fleet->started) {
		fleet->stop.fn = on_stop;
		loop_post(fleet->loop, &fleet->stop);
		pthread_join(fleet->thread, NULL);
	}
	for (size_t i = 0; i < fleet->n_open; i++)
		client_free(fleet->clients[i]);
	client_free(fleet->bulk);
	free(fleet->clients);
	free(fleet->text);
	loop_free(fleet->loop);
	free(fleet);
}

static bool is_known(const struct fleet *fleet, const char *endpoint)
{
	for (size_t i = 0; i < fleet->n; i++)
		if (strcmp(client_endpoint(fleet->clients[i]), endpoint) == 0)
			return true;
	return false;
}

static int add(struct fleet *fleet, const struct option_list *listed, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct option_list endpoints;

	if (agents_dns_expand(&arena, listed, &endpoints, err) < 0)
		return -1;
	fleet->clients =
		mem_resize(fleet->clients, (fleet->n + endpoints.n + 1) * sizeof(*fleet->clients));
	for (size_t i = 0; i < endpoints.n; i++) {
		if (is_known(fleet, endpoints.values[i]))
			continue;
		if (client_new(&fleet->clients[fleet->n], fleet->loop, endpoints.values[i],
			       &fleet->options, err) < 0)
			return -1;
		fleet->n_open = ++fleet->n;
	}
	return 0;
}

static int add_file(struct fleet *fleet, const char *path, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	size_t size = 0;

	if (!file || (getdelim(&fleet->text, &size, '\0', file) < 0 && ferror(file)))
		return fail_errno(err, "cannot read --agents-file '%s'", path);
	if (!fleet->text)
		fleet->text = mem_strdup("");
	struct option_list endpoints = agents_file_parse(fleet->text);
	int result = add(fleet, &endpoints, err);
	free(endpoints.values);
	return result < 0 ? fail_context(err, "--agents-file '%s'", path) : 0;
}

static int open_all(struct fleet *fleet, const struct fleet_options *options, struct error *err)
{
	fleet->timeout_ms = options->timeout_ms;
	fleet->only_reads = options->only_reads;
	fleet->options = (struct client_options){.tls = options->trust->tls,
						 .allow_plaintext = options->trust->insecure};
	if (loop_new(&fleet->loop, err) < 0 || add(fleet, options->named, err) < 0 ||
	    (options->file && add_file(fleet, options->file, err) < 0))
		return -1;
	if (!fleet->n)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' names no agent: write an endpoint a line, such as "
			    "tcp://10.0.0.11:9740",
			    options->file);
	if (thread_start(&fleet->thread, NULL, run, fleet->loop) < 0)
		return fail_errno(err, "cannot start a thread");
	fleet->started = true;
	return 0;
}

int fleet_open(struct fleet **ret, const struct fleet_options *options, struct error *err)
{
	*ret = mem_alloc(sizeof(**ret));
	if (open_all(*ret, options, err) == 0)
		return 0;
	fleet_close(*ret);
	*ret = NULL;
	return -1;
}

int fleet_timeout(const char *text, int64_t *ret_ms, struct error *err)
{
	char *end;
	long seconds = strtol(text, &end, 10);

	if (*end || end == text || seconds < 1 || seconds > SECONDS_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--timeout '%s' is not a number of seconds from 1 to %d", text,
			    SECONDS_MAX);
	*ret_ms = seconds * 1000;
	return 0;
}

void fleet_limit(struct fleet *fleet, int64_t timeout_ms)
{
	fleet->timeout_ms = timeout_ms;
}

static const ProtobufCServiceDescriptor *service_of(const char *method)
{
	static const ProtobufCServiceDescriptor *const services[] = {&zcsi__v1__agent__descriptor,
								     &zcsi__v1__copy__descriptor,
								     &zcsi__v1__replica__descriptor,
								     &csi__v1__node__descriptor};
	size_t i = 0;

	while (i + 1 < COUNT(services) &&
	       !protobuf_c_service_descriptor_get_method_by_name(services[i], method))
		i++;
	return services[i];
}

/* Returns true if the request has a field of this name, a bool or a uint64, that is not 0. */
static bool is_set(const ProtobufCMessage *request, const char *name)
{
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(request->descriptor, name);

	if (!field)
		return false;
	const char *at = (const char *)request + field->offset;
	return field->type == PROTOBUF_C_TYPE_BOOL ? *(const protobuf_c_boolean *)at != 0
						   : *(const uint64_t *)at != 0;
}

/* Returns true if a call changes nothing: a claim changes what the agent promises to others. */
static bool reads(const char *method, const ProtobufCMessage *request)
{
	static const char *const verbs[] = {"Get", "List", "Check", "Estimate"};

	for (size_t i = 0; i < COUNT(verbs); i++)
		if (strncmp(method, verbs[i], strlen(verbs[i])) == 0)
			return !is_set(request, "claim");
	return is_set(request, "check");
}

struct client_call *fleet_begin_long(struct fleet *fleet, struct arena *arena, size_t at,
				     const char *method, const ProtobufCMessage *request,
				     int64_t least_ms)
{
	int64_t limit = fleet->timeout_ms > least_ms ? fleet->timeout_ms : least_ms;

	if (fleet->only_reads && !reads(method, request)) {
		fprintf(stderr, "zcsi: bug: --dry-run was to call %s; nothing was done\n", method);
		abort();
	}
	return client_begin(fleet->clients[at], arena, service_of(method), method, request,
			    now_ms() + limit);
}

struct client_call *fleet_begin(struct fleet *fleet, struct arena *arena, size_t at,
				const char *method, const ProtobufCMessage *request)
{
	return fleet_begin_long(fleet, arena, at, method, request, 0);
}

struct reply *fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			const ProtobufCMessage *request)
{
	struct reply *replies = arena_alloc(arena, fleet->n * sizeof(*replies));
	struct client_call **calls = arena_alloc(arena, fleet->n * sizeof(*calls));

	for (size_t i = 0; i < fleet->n; i++)
		calls[i] = fleet_begin(fleet, arena, i, method, request);
	for (size_t i = 0; i < fleet->n; i++)
		client_finish(calls[i], &replies[i].response, &replies[i].error);
	return replies;
}

struct reply fleet_ask_member(struct fleet *fleet, struct arena *arena, const struct member *member,
			      const char *method, const ProtobufCMessage *request)
{
	struct reply reply = {NULL, {0}};

	client_finish(fleet_begin(fleet, arena, member->at, method, request), &reply.response,
		      &reply.error);
	return reply;
}

/* Returns the certificate that an agent has shown, in the arena. */
static struct tls_certificate certificate_of(struct arena *arena, struct client *client)
{
	struct tls_certificate shown, kept;

	client_certificate(client, &shown);
	kept = shown;
	if (shown.names)
		kept.names = arena_strdup(arena, shown.names);
	free(shown.names);
	return kept;
}

/*
 * Returns true if a member is the agent that gave this answer, at another endpoint. An agent of an
 * earlier version reports no boot, and is recognised by its pool.
 */
static bool is_member(const struct member *members, size_t n, const GetHostResponse *host)
{
	const bool has_identity = host && (*host->boot || host->pool_guid);

	for (size_t i = 0; has_identity && i < n; i++) {
		const GetHostResponse *other = members[i].host;
		if (other && strcmp(other->boot, host->boot) == 0 &&
		    strcmp(other->node_id, host->node_id) == 0 &&
		    strcmp(other->dataset, host->dataset) == 0 &&
		    other->pool_guid == host->pool_guid)
			return true;
	}
	return false;
}

/* Stop asking an agent. Its client stays open, at the end of the list. */
static void leave_out(struct fleet *fleet, size_t at)
{
	struct client *client = fleet->clients[at];

	memmove(&fleet->clients[at], &fleet->clients[at + 1],
		(fleet->n_open - at - 1) * sizeof(struct client *));
	fleet->clients[fleet->n_open - 1] = client;
	fleet->n--;
}

static struct member member_of(struct fleet *fleet, struct arena *arena, size_t at,
			       const struct reply *reply)
{
	const GetHostResponse *host = reply->response;
	const char *endpoint = client_endpoint(fleet->clients[at]);

	return (struct member){.at = at,
			       .endpoint = endpoint,
			       .host = host,
			       .node = host ? host->node_id : endpoint,
			       .error = reply->error,
			       .certificate = certificate_of(arena, fleet->clients[at])};
}

struct member *fleet_members(struct fleet *fleet, struct arena *arena, size_t *ret_n)
{
	const size_t asked = fleet->n;
	struct member *members = arena_alloc(arena, asked * sizeof(*members));
	const struct reply *replies =
		fleet_ask(fleet, arena, "GetHost", &new_get_host_request(arena)->base);
	size_t n = 0;

	for (size_t i = 0; i < asked; i++) {
		if (is_member(members, n, replies[i].response)) {
			leave_out(fleet, n);
			continue;
		}
		members[n] = member_of(fleet, arena, n, &replies[i]);
		n++;
	}
	*ret_n = n;
	return members;
}

int fleet_dial(struct fleet *fleet, const struct member *member, struct client **ret,
	       struct error *err)
{
	struct client_options options = fleet->options;

	options.limits = &limits_bulk;
	if (client_new(&fleet->bulk, fleet->loop, member->endpoint, &options, err) < 0)
		return -1;
	*ret = fleet->bulk;
	return 0;
}

struct member fleet_who(struct fleet *fleet, struct arena *arena, const char *endpoint)
{
	const GetHostRequest *request = new_get_host_request(arena);
	struct member member = {.endpoint = endpoint};
	GetHostResponse *host = NULL;
	struct client *client;

	if (fleet_dial(fleet, &member, &client, &member.error) == 0)
		client_finish(client_begin(client, arena, service_of("GetHost"), "GetHost",
					   &request->base, now_ms() + fleet->timeout_ms),
			      &host, &member.error);
	member.host = host;
	return member;
}

void fleet_post(struct fleet *fleet, struct loop_task *task)
{
	loop_post(fleet->loop, task);
}
