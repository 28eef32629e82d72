/* SPDX-License-Identifier: MPL-2.0 */
/*
 * CheckHost of zcsi.v1.Agent: what --check reports, of a zcsi-node that runs. Certificates and
 * endpoints are left out, because a check would close and open them again.
 *
 * Invariant: the programs of ZFS run once at a time, and their rows answer all calls that began
 * before the rows were complete. A zfs that hangs ties up one thread, and no call waits for it
 * beyond its deadline.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bounded_call.h"
#include "common/clock.h"
#include "node/check/check.h"
#include "node/service.h"

#define THING_MAX 300
#define WAIT_MS   60000 /* the time of a call, at most, of which four fifths are for ZFS */

/* The rows of the last look at ZFS. Only look_at_zfs uses them, and one runs at a time. */
static struct {
	struct arena arena;
	struct check check;
	int64_t complete; /* when the last look ended, a now_us() value; 0: none has */
} last;

/* A look at ZFS for one call. */
struct look {
	struct settings settings; /* texts in it live as long as the process */
	int64_t asked;            /* when the call began, a now_us() value */
	struct arena arena;
	struct check check;
};

static void copy_rows(struct check *to, const struct check *from)
{
	for (const struct check_row *row = from->rows; row; row = row->next)
		check_add(to, row);
}

static void look_at_zfs(void *work)
{
	struct look *look = work;

	if (last.complete <= look->asked) {
		arena_fini(&last.arena);
		arena_init(&last.arena, SIZE_MAX);
		check_begin(&last.check, &look->settings, &last.arena, NULL);
		check_zfs(&last.check);
		last.complete = now_us();
	}
	copy_rows(&look->check, &last.check);
}

static void discard(void *work)
{
	struct look *look = work;

	arena_fini(&look->arena);
	free(look);
}

static struct look *look_new(const struct settings *settings)
{
	struct look *look = mem_alloc(sizeof(*look));

	look->settings = *settings;
	look->asked = now_us();
	arena_init(&look->arena, SIZE_MAX);
	check_begin(&look->check, &look->settings, &look->arena, NULL);
	return look;
}

/*
 * Returns how long to wait for ZFS: a fifth of the caller's time is left for the answer, of which
 * the server takes half for its own error.
 */
static int64_t wait_ms(const struct rpc_call *call)
{
	int64_t left = time_left_ms(call->deadline);

	return (left < WAIT_MS ? left : WAIT_MS) / 5 * 4;
}

/* Add a row that ZFS was not checked. error: ETIMEDOUT, or the errno with which no thread began. */
static void say_unknown(struct check *check, int error, int64_t ms)
{
	const char *dataset = check->settings->dataset;
	const int pool = (int)strcspn(dataset, "/");
	char thing[THING_MAX];

	snprintf(thing, sizeof(thing), "pool of '%s'", dataset);
	if (error != ETIMEDOUT)
		check_has(check, NEEDED, thing, false, "it was not looked at: %s", strerror(error));
	else
		check_has(check, NEEDED, thing, false,
			  "zfs has not answered for %lld s; if 'zpool status %.*s' shows failed "
			  "devices, repair them and run 'zpool clear %.*s', else ask again and "
			  "wait longer (--timeout)",
			  (long long)(ms / 1000), pool, dataset, pool, dataset);
}

static void check_pool(struct check *check, const struct rpc_call *call)
{
	struct look *look = look_new(check->settings);
	const int64_t ms = wait_ms(call);
	const struct bounded_call bounded = {"check", "check", look_at_zfs, discard, look};

	int error = bounded_call_run(&bounded, now_ms() + ms);
	if (error) {
		say_unknown(check, error, ms);
		return;
	}
	copy_rows(check, &look->check);
	discard(look);
}

static void fill(struct arena *arena, const struct check *check, CheckHostResponse *rsp)
{
	size_t n = 0;

	for (const struct check_row *row = check->rows; row; row = row->next)
		n++;
	rsp->things = arena_alloc(arena, (n + 1) * sizeof(*rsp->things));
	for (const struct check_row *row = check->rows; row; row = row->next) {
		CheckedThing *thing = new_checked_thing(arena);
		thing->thing = (char *)row->thing;
		thing->needed = row->need == NEEDED;
		if (row->remedy)
			thing->remedy = (char *)row->remedy;
		rsp->things[rsp->n_things++] = thing;
	}
}

int check_host(struct rpc_call *call, const CheckHostRequest *req, CheckHostResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	struct check check;

	(void)req;
	(void)err;
	check_begin(&check, node->settings, &call->arena, NULL);
	check_system(&check);
	check_optional(&check);
	if (node->settings->dataset)
		check_pool(&check, call);
	fill(&call->arena, &check, rsp);
	return 0;
}
