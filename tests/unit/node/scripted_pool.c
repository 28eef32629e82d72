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
#define POINTS  256 /* more snapshots and bookmarks than any test makes */
#define SETTLED ((uint64_t)2 * COPIES)

/* A snapshot or a bookmark of this host; a bookmark comes after its snapshot. */
struct made {
	char name[64];
	uint64_t guid; /* 0: it was destroyed */
	int64_t creation;
};

/* A copy of the volume on another node. */
struct twin {
	uint64_t guids[POINTS];  /* the guids of its snapshots, oldest first */
	char leaves[POINTS][64]; /* the names of its snapshots */
	bool described[POINTS];  /* which of its snapshots have a record */
	bool ends;               /* the node ends before setting a record */
	size_t n;
	uint64_t held;       /* the guid of a snapshot with a hold */
	bool keeps;          /* the node answers ThinCopy with an error */
	uint64_t to, from;   /* the ends of an interrupted stream */
	const char *foreign; /* a snapshot that another tool took of the copy; NULL: none */
	bool silent;
	bool refuses;    /* the node refuses snapshots of other tools */
	int cut, unsaid; /* how many next streams are cut, or lose their answer */
	int cut_after;   /* how many streams arrive before the first one that is cut */
};

static struct arena arena;
static struct made made[POINTS];
static size_t n_made;
static bool completed; /* complete_volume was called after the last snapshot */
static uint64_t last_guid;
static struct twin twins[COPIES];
static struct twin *called;       /* the copy that the running push calls */
static const char *method_called; /* the method that was called last */
static size_t shown; /* how many snapshots GetCopy returns, unless the call asks for all */
static size_t shows; /* how many snapshots the running GetCopy returns */
static struct order_list orders;
static const char *rules;          /* zcsi:push */
static char owner[64];             /* zcsi:owner */
static bool locked, queued;        /* the copies are locked; a call for the volume runs */
static void (*while_locked)(void); /* run while the next push waits for the lock; or NULL */
static int steps;                  /* after how many changes zcsi-node is killed */

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

/* Returns the guid of a name; inline, because not all test programs use it. */
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

/* Take a snapshot of the volume as CSI does. */
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

/* Delete a snapshot as a person or CSI does; its bookmarks stay. */
static void delete_snapshot(uint64_t guid)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid == guid && strchr(made[i].name, '@'))
			made[i].guid = 0;
}

/* Count a change of the pool. Returns -1 if zcsi-node was killed before it, so nothing changes. */
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

/* Only `zfs bookmark` is run by zfs_run in a push. */
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
