/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The pool of the host n1, with one volume, as a list of snapshots and bookmarks: a part of
 * scripted_copies.c, which includes it once.
 */
#include "node/copy/push.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/attach/complete.h"
#include "node/copy/header.h"
#include "node/copy/history.h"
#include "node/copy/order.h"
#include "node/copy/part.h"
#include "node/stream/program.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"

#define VOLUME  "t/p/v"
#define MEMBERS "00112233aabbccdd:60:n1,n2,n3,n4"
#define COPIES  3
#define POINTS  256 /* more than there ever are in a test */
#define SETTLED ((uint64_t)2 * COPIES)

/* A snapshot or a bookmark of this host; bookmarks come after the snapshot they were made of. */
struct made {
	char name[64];
	uint64_t guid; /* 0: it is gone */
	int64_t creation;
};

/* A copy as its node has it. */
struct twin {
	uint64_t guids[POINTS];  /* of its snapshots, oldest first */
	char leaves[POINTS][64]; /* their names */
	bool described[POINTS];  /* they have records */
	bool ends;               /* its node ends before it has set a record */
	size_t n;
	uint64_t held;       /* the snapshot that somebody holds */
	bool keeps;          /* it answers ThinCopy with an error */
	uint64_t to, from;   /* an interrupted stream */
	const char *foreign; /* the name of a snapshot that somebody took of the copy; NULL: none */
	bool silent;
	bool refuses;    /* a snapshot of another tool */
	int cut, unsaid; /* so many streams are cut, or lose their answer; the next ones, */
	int cut_after;   /* but for so many before the first one that is cut */
};

static struct arena arena;
static struct made made[POINTS];
static size_t n_made;
static bool completed; /* complete_volume was called after the last snapshot */
static uint64_t last_guid;
static struct twin twins[COPIES];
static struct twin *called;       /* by the push that runs */
static const char *method_called; /* the method that was called last */
static size_t shown; /* so many snapshots are returned, unless it is to be all of them */
static size_t shows; /* so many by the call that runs */
static struct order_list orders;
static const char *rules;          /* zcsi:push */
static char owner[64];             /* zcsi:owner */
static bool locked, queued;        /* the copies; a call for the volume runs */
static void (*while_locked)(void); /* run while the next push waits for the lock; or NULL */
static int steps;                  /* so many changes of the pool, then zcsi-node is killed */

static const char *node_of(size_t at)
{
	static const char *const nodes[COPIES] = {"n2", "n3", "n4"};

	return nodes[at];
}

/* The pool of this host */

static struct made *named(const char *name)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid && strcmp(made[i].name, name) == 0)
			return &made[i];
	return NULL;
}

/* inline, because not all programs use it. */
static inline uint64_t guid_of(const char *name)
{
	const struct made *found = named(name);

	return found ? found->guid : 0;
}

static bool has(uint64_t guid, bool bookmarks)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid == guid && (bookmarks || strchr(made[i].name, '@')))
			return true;
	return false;
}

/* Returns how many snapshots and bookmarks have a text in their names. */
static size_t count_of(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < n_made; i++)
		n += made[i].guid && strstr(made[i].name, text);
	return n;
}

static size_t own_snapshots(void)
{
	return count_of("@" HISTORY_OWN);
}

static void make(size_t at, const char *name, uint64_t guid)
{
	assert_true(n_made < POINTS);
	memmove(&made[at + 1], &made[at], (n_made++ - at) * sizeof(*made));
	made[at].guid = guid;
	made[at].creation = time(NULL);
	snprintf(made[at].name, sizeof(made[at].name), "%s", name);
}

/* As CSI does. */
static void ask_for_snapshot(void)
{
	uint64_t guid = ++last_guid;

	make(n_made, arena_printf(&arena, VOLUME "@asked-%" PRIu64, guid), guid);
}

/* Take a snapshot as another tool does. Returns its guid. */
static uint64_t take_by_tool(const char *name)
{
	uint64_t guid = ++last_guid;

	make(n_made, arena_printf(&arena, VOLUME "@%s", name), guid);
	return guid;
}

/* As a person or CSI does; its bookmarks stay. */
static void delete_snapshot(uint64_t guid)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid == guid && strchr(made[i].name, '@'))
			made[i].guid = 0;
}

/* Returns -1 if zcsi-node is dead, so that nothing changes any more. */
static int step(struct error *err)
{
	return steps-- > 0 ? 0 : fail(err, ERR_UNAVAILABLE, "zcsi-node was killed");
}

/* Let the clock go on, as it does while a program runs. */
static void take_time(void)
{
	int64_t begun = now_us();

	while (now_us() == begun)
		;
}

int __wrap_complete_volume(struct arena *at, const struct dataset *volume, struct error *err);
int __wrap_complete_volume(struct arena *at, const struct dataset *volume, struct error *err)
{
	(void)at;
	(void)volume;
	(void)err;
	completed = true;
	return 0;
}

int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err);
int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err)
{
	assert_true(n == 1 && !properties->n);
	assert_true(completed);
	completed = false;
	if (step(err) < 0)
		return -1;
	make(n_made, names[0], ++last_guid);
	take_time();
	return 0;
}

int __wrap_zfs_destroy(const char *name, struct error *err);
int __wrap_zfs_destroy(const char *name, struct error *err)
{
	struct made *gone = named(name);

	if (step(err) < 0)
		return -1;
	if (!gone)
		return fail(err, ERR_NOT_FOUND, "it does not exist");
	gone->guid = 0;
	return 0;
}

/* Only `zfs bookmark` is run so. */
int __wrap_zfs_run(const char *const *argv, struct error *err);
int __wrap_zfs_run(const char *const *argv, struct error *err)
{
	const struct made *of = named(argv[2]);

	assert_string_equal(argv[1], "bookmark");
	assert_non_null(of);
	if (step(err) < 0)
		return -1;
	assert_null(named(argv[3]));
	make((size_t)(of - made) + 1, argv[3], of->guid);
	return 0;
}

int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err);
int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err)
{
	char *text = arena_strdup(at, "");

	(void)err;
	assert_string_equal(dataset, VOLUME);
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid)
			text = arena_printf(at, "%s%s\t%" PRIu64 "\t%" PRId64 "\t0\n", text,
					    made[i].name, made[i].guid, made[i].creation);
	assert_true(history_parse(at, text, ret));
	return 0;
}
