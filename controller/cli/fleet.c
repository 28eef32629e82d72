/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The agents of a command: a connection each, a loop on a thread of its own, and questions to all
 * of them at once.
 *
 * Invariant: every call begun is finished before the function that began it returns.
 */
#include "controller/cli/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/thread.h"
#include "controller/agents_file.h"
#include "transport/client.h"

struct fleet {
	struct loop *loop;
	struct loop_task stop;
	pthread_t thread;
	bool started;
	char *text; /* contents of --agents-file */
	struct client **clients;
	size_t n;
	int64_t timeout_ms;
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
	for (size_t i = 0; i < fleet->n; i++)
		client_free(fleet->clients[i]);
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

static int add(struct fleet *fleet, const struct option_list *endpoints, const struct trust *trust,
	       struct error *err)
{
	const struct client_options options = {.tls = trust->tls,
					       .allow_plaintext = trust->insecure};

	fleet->clients =
		mem_resize(fleet->clients, (fleet->n + endpoints->n + 1) * sizeof(*fleet->clients));
	for (size_t i = 0; i < endpoints->n; i++) {
		if (is_known(fleet, endpoints->values[i]))
			continue;
		if (client_new(&fleet->clients[fleet->n], fleet->loop, endpoints->values[i],
			       &options, err) < 0)
			return -1;
		fleet->n++;
	}
	return 0;
}

static int add_file(struct fleet *fleet, const char *path, const struct trust *trust,
		    struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	size_t size = 0;

	if (!file || (getdelim(&fleet->text, &size, '\0', file) < 0 && ferror(file)))
		return fail_errno(err, "cannot read --agents-file '%s'", path);
	if (!fleet->text)
		fleet->text = mem_strdup("");
	struct option_list endpoints = agents_file_parse(fleet->text);
	int result = add(fleet, &endpoints, trust, err);
	free(endpoints.values);
	return result < 0 ? fail_context(err, "--agents-file '%s'", path) : 0;
}

static int open_all(struct fleet *fleet, const struct fleet_options *options, struct error *err)
{
	fleet->timeout_ms = options->timeout_ms;
	if (loop_new(&fleet->loop, err) < 0 ||
	    add(fleet, options->named, options->trust, err) < 0 ||
	    (options->file && add_file(fleet, options->file, options->trust, err) < 0))
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

static struct client_call *begin(struct fleet *fleet, struct arena *arena, size_t at,
				 const char *method, const ProtobufCMessage *request)
{
	return client_begin(fleet->clients[at], arena, &zcsi__v1__agent__descriptor, method,
			    request, now_ms() + fleet->timeout_ms);
}

struct member *fleet_members(struct fleet *fleet, struct arena *arena, size_t *ret_n)
{
	struct member *members = arena_alloc(arena, fleet->n * sizeof(*members));
	struct client_call **calls = arena_alloc(arena, fleet->n * sizeof(*calls));
	const GetHostRequest *request = new_get_host_request(arena);

	for (size_t i = 0; i < fleet->n; i++)
		calls[i] = begin(fleet, arena, i, "GetHost", &request->base);
	for (size_t i = 0; i < fleet->n; i++) {
		struct member *member = &members[i];
		void *host = NULL;
		member->endpoint = client_endpoint(fleet->clients[i]);
		member->node = member->endpoint;
		if (client_finish(calls[i], &host, &member->error) < 0)
			continue;
		member->host = host;
		member->node = member->host->node_id;
	}
	*ret_n = fleet->n;
	return members;
}

/* The state of one agent's list while it is read. */
struct reading {
	struct client_call *call;
	const char *after;
	bool more;
};

struct gathered {
	struct owned *list;
	size_t n, room;
};

static void gather(struct gathered *all, struct arena *arena, const struct owned *entry)
{
	if (all->n == all->room) {
		struct owned *old = all->list;
		all->room = all->room * 2 + 64;
		all->list = arena_alloc(arena, all->room * sizeof(*all->list));
		if (all->n)
			memcpy(all->list, old, all->n * sizeof(*old));
	}
	all->list[all->n++] = *entry;
}

static void take_page(struct gathered *all, struct arena *arena, struct reading *reading,
		      struct member *member, const struct fleet_list *list)
{
	void *response = NULL;
	size_t n;

	reading->more = false;
	if (client_finish(reading->call, &response, &member->error) < 0)
		return;
	void *const *entries = list->entries(response, &n, &reading->more);
	for (size_t i = 0; i < n; i++) {
		reading->after = list->id(entries[i]);
		gather(all, arena, &(struct owned){member, entries[i], reading->after});
	}
	/* An agent that promises more and sends nothing would be asked for ever. */
	reading->more &= n > 0;
}

static int by_id_and_node(const void *left, const void *right)
{
	const struct owned *one = left, *other = right;
	int order = strcmp(one->id, other->id);

	return order ? order : strcmp(one->owner->node, other->owner->node);
}

struct owned *fleet_entries(struct fleet *fleet, struct arena *arena, struct member *members,
			    const struct fleet_list *list, const void *arg, size_t *ret_n)
{
	struct reading *readings = arena_alloc(arena, fleet->n * sizeof(*readings));
	struct gathered all = {0};
	size_t left = 0;

	for (size_t i = 0; i < fleet->n; i++) {
		const GetHostResponse *host = members[i].host;
		readings[i] = (struct reading){.after = "", .more = host && *host->dataset};
		left += readings[i].more;
	}
	while (left > 0) {
		for (size_t i = 0; i < fleet->n; i++)
			if (readings[i].more)
				readings[i].call = begin(fleet, arena, i, list->method,
							 list->ask(arena, readings[i].after, arg));
		left = 0;
		for (size_t i = 0; i < fleet->n; i++) {
			if (readings[i].more)
				take_page(&all, arena, &readings[i], &members[i], list);
			left += readings[i].more;
		}
	}
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), by_id_and_node);
	*ret_n = all.n;
	return all.list;
}
