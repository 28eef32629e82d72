/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The watcher thread. It waits for a change of --agents-file, for the next roll call, and for the
 * requests to read the file again and to stop. DNS names are resolved before each roll call.
 *
 * Invariant: if --agents-file cannot be read or names no agent, or a name is not resolved, the
 * previous list stays in use. If an agent were dropped from the list, the calls for its volumes
 * would fail.
 */
#include "controller/agent_watcher.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/agents_dns.h"
#include "common/agents_file.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "controller/roll_hosts.h"
#include "controller/rollcall.h"
#include "controller/roster_absent.h"

#define DOWN_MS 1000 /* pause between roll calls while an agent is down or its records are unread */

struct agent_watcher {
	struct roster *roster;
	struct agent_watcher_options options;
	struct agents_file *file; /* NULL without --agents-file */
	char *text;               /* the contents of the file that are in use; NULL: none */
	char *endpoints;          /* all endpoints that are in use, a line each */
	bool has_names;           /* an endpoint is a DNS name */
	bool unresolved;          /* a DNS name was not resolved, which was logged */
	bool unread;              /* a name in the file was not resolved, which was logged */
	int wake;                 /* an eventfd, written after stopping or rereading is set */
	atomic_bool stopping;     /* the thread is to end */
	atomic_bool rereading;    /* the file is to be read even if it did not change */
	pthread_t thread;
	struct loop_task task;

	/* the arguments and the result of the task that runs on the loop */
	struct option_list list;
	struct error *err;
	int named;
	sem_t done;
};

static void name_on_loop(struct loop_task *task)
{
	struct agent_watcher *watch = container_of(task, struct agent_watcher, task);

	watch->named = roster_name(watch->roster, watch->list.values, watch->list.n, watch->err);
	sem_post(&watch->done);
}

static void reap_on_loop(struct loop_task *task)
{
	struct agent_watcher *watch = container_of(task, struct agent_watcher, task);

	roster_reap(watch->roster);
	sem_post(&watch->done);
}

static void stop_on_loop(struct loop_task *task)
{
	loop_stop(container_of(task, struct agent_watcher, task)->roster->loop);
}

static void on_loop(struct agent_watcher *watch, void (*fn)(struct loop_task *task))
{
	watch->task.fn = fn;
	loop_post(watch->roster->loop, &watch->task);
	while (sem_wait(&watch->done) < 0 && errno == EINTR)
		;
}

/* Put the endpoints of --agent in front of those of the file. */
static void join(const struct option_list *fixed, struct option_list *list)
{
	list->values = mem_resize(list->values, (fixed->n + list->n + 1) * sizeof(*list->values));
	memmove(list->values + fixed->n, list->values, list->n * sizeof(*list->values));
	if (fixed->n)
		memcpy(list->values, fixed->values, fixed->n * sizeof(*list->values));
	list->n += fixed->n;
}

static const char *lines_of(struct arena *arena, const struct option_list *list)
{
	size_t length = 1;

	for (size_t i = 0; i < list->n; i++)
		length += strlen(list->values[i]) + 1;
	char *lines = arena_alloc(arena, length), *end = lines;
	*end = '\0';
	for (size_t i = 0; i < list->n; i++)
		end = stpcpy(stpcpy(end, list->values[i]), "\n");
	return lines;
}

/*
 * Put the agents of --agent and of the text, the contents of --agents-file, on the list.
 * *ret_changed is false if the list has the same endpoints as before.
 */
static int name_all(struct agent_watcher *watch, const char *text, bool *ret_changed,
		    struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct option_list list = agents_file_parse(arena_strdup(&arena, text ? text : ""));

	join(watch->options.agents, &list);
	arena_own(&arena, free, list.values);
	if (agents_dns_expand(&arena, &list, &watch->list, err) < 0)
		return -1;
	if (!watch->list.n)
		return fail(err, ERR_INVALID_ARGUMENT, "the file names no agent");
	watch->has_names = agents_dns_any(&list);
	const char *lines = lines_of(&arena, &watch->list);
	*ret_changed = !watch->endpoints || strcmp(watch->endpoints, lines) != 0;
	if (!*ret_changed)
		return 0;
	watch->err = err;
	on_loop(watch, name_on_loop);
	if (watch->named < 0)
		return -1;
	free(watch->endpoints);
	watch->endpoints = mem_strdup(lines);
	return 0;
}

/* Read --agents-file. Returns true if the agents in it are in use now. */
static bool read_file(struct agent_watcher *watch)
{
	struct error err;
	auto_free char *text = agents_file_read(watch->file, &err);
	bool ignored;

	if (!text || name_all(watch, text, &ignored, &err) < 0) {
		bool again = err.code == ERR_UNAVAILABLE;
		if (!again || !watch->unread)
			log_error("cannot use --agents-file, keeping the previous list",
				  log_str("file", watch->options.file), log_str("error", err.text));
		watch->unread = again;
		if (again)
			atomic_store(&watch->rereading, true);
		return false;
	}
	watch->unread = watch->unresolved = false;
	free(watch->text);
	watch->text = steal_ptr(text);
	log_info("--agents-file is loaded", log_str("file", watch->options.file),
		 log_int("agents", (long long)watch->list.n));
	return true;
}

/* Resolve the DNS names of agents again. Returns true if the addresses have changed. */
static bool resolve(struct agent_watcher *watch)
{
	struct error err;
	bool changed;

	if (name_all(watch, watch->text, &changed, &err) < 0) {
		if (!watch->unresolved)
			log_error("cannot resolve the names of agents, keeping the previous list",
				  log_str("error", err.text));
		watch->unresolved = true;
		return false;
	}
	watch->unresolved = false;
	if (changed)
		log_info("list of agents is updated", log_int("agents", (long long)watch->list.n));
	return changed;
}

static bool renew(struct agent_watcher *watch)
{
	bool rereading = atomic_exchange(&watch->rereading, false);

	if (watch->file && (agents_file_changed(watch->file) || rereading))
		return read_file(watch);
	return watch->has_names && resolve(watch);
}

/* Returns true if all agents are up, and all hosts and names that they keep were read. */
static bool is_complete(struct roster *roster)
{
	scoped_lock(&roster->lock);

	for (size_t i = 0; i < roster->named->n; i++) {
		const struct agent_state *state = &roster->named->list[i]->state;
		if (!state->up || !state->hosts_read)
			return false;
	}
	for (const struct absent *host = roster->absent; host; host = host->next)
		if (host->names.asked != roster->ups)
			return false;
	return true;
}

/*
 * Wait for a request, a change of --agents-file, or for ms milliseconds. Returns false if the
 * thread is to end.
 */
static bool wait_for_work(struct agent_watcher *watch, int64_t ms)
{
	struct pollfd fds[] = {{.fd = watch->wake, .events = POLLIN},
			       {.fd = watch->file ? agents_file_fd(watch->file) : -1,
				.events = POLLIN}};
	eventfd_t ignored;

	if (poll(fds, COUNT(fds), (int)ms) > 0 && fds[0].revents)
		eventfd_read(watch->wake, &ignored);
	return !atomic_load(&watch->stopping);
}

/* Call the roll. Returns the time at which the next roll call is due (common/clock.h). */
static int64_t call_roll(struct agent_watcher *watch, bool renewed)
{
	int64_t pause = watch->options.every_ms;

	bool changed = rollcall(watch->roster, watch->options.lost_after_ms);
	roll_hosts_read(watch->roster);
	if (changed || renewed)
		roster_open(watch->roster);
	roster_forget(watch->roster, watch->options.forget_after_ms);
	roll_hosts_send(watch->roster);
	on_loop(watch, reap_on_loop);
	if (pause > DOWN_MS && !is_complete(watch->roster))
		pause = DOWN_MS;
	return now_ms() + pause;
}

static void *run(void *arg)
{
	struct agent_watcher *watch = arg;

	renew(watch);
	int64_t next = call_roll(watch, true);
	while (wait_for_work(watch, time_left_ms(next))) {
		bool renewed = renew(watch);
		if (renewed || time_left_ms(next) == 0)
			next = call_roll(watch, renewed);
	}
	watch->task.fn = stop_on_loop;
	loop_post(watch->roster->loop, &watch->task);
	return NULL;
}

static void watch_free(struct agent_watcher *watch)
{
	agents_file_free(watch->file);
	mem_cleanup_close(&watch->wake);
	free(watch->endpoints);
	free(watch->text);
	sem_destroy(&watch->done);
	free(watch);
}

int agent_watcher_start(struct agent_watcher **ret, struct roster *roster,
			const struct agent_watcher_options *options, struct error *err)
{
	struct agent_watcher *watch = mem_alloc(sizeof(*watch));

	*watch = (struct agent_watcher){.roster = roster,
					.options = *options,
					.has_names = agents_dns_any(options->agents),
					.wake = -1};
	sem_init(&watch->done, 0, 0);
	if (options->file && agents_file_watch(&watch->file, options->file, err) < 0) {
		watch_free(watch);
		return -1;
	}
	watch->wake = eventfd(0, EFD_CLOEXEC);
	if (watch->wake < 0 || thread_start(&watch->thread, NULL, run, watch) < 0) {
		fail_errno(err, "cannot start the thread that watches the agents");
		watch_free(watch);
		return -1;
	}
	*ret = watch;
	return 0;
}

void agent_watcher_reread(struct agent_watcher *watch)
{
	atomic_store(&watch->rereading, true);
	eventfd_write(watch->wake, 1);
}

void agent_watcher_stop(struct agent_watcher *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->stopping, true);
	eventfd_write(watch->wake, 1);
	loop_run(watch->roster->loop);
	pthread_join(watch->thread, NULL);
	watch_free(watch);
}
