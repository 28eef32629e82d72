/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking zcsi:owner of a volume.
 *
 * Invariant: a volume with copies is used only by the owner that the members have confirmed since
 * the boot. After a restart of zcsi-node they are asked again before the volume is used, and need
 * not answer: the host may have kept it mounted all the time.
 */
#include "node/host/owner.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "node/catalog/change.h"
#include "node/zfs/zfs.h"

#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_MAX  64
#define WAIT_MS   30000

struct owners {
	pthread_mutex_t lock; /* protects all members */
	pthread_cond_t changed;
	bool answered;
	char **open; /* volumes for which the nodes' answers are not recorded yet, or NULL */
	size_t n_open;
};

struct owners *owners_new(void)
{
	struct owners *owners = mem_alloc(sizeof(*owners));
	pthread_condattr_t clock;

	*owners = (struct owners){.open = NULL};
	pthread_mutex_init(&owners->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&owners->changed, &clock);
	pthread_condattr_destroy(&clock);
	return owners;
}

static void drop_open(struct owners *owners)
{
	for (size_t i = 0; i < owners->n_open; i++)
		free(owners->open[i]);
	free(owners->open);
	owners->open = NULL;
	owners->n_open = 0;
}

void owners_free(struct owners *owners)
{
	if (!owners)
		return;
	drop_open(owners);
	pthread_cond_destroy(&owners->changed);
	pthread_mutex_destroy(&owners->lock);
	free(owners);
}

static void set_answered(struct owners *owners)
{
	owners->answered = true;
	pthread_cond_broadcast(&owners->changed);
}

void owners_answered(struct owners *owners, const char *const *ids, size_t n)
{
	scoped_lock(&owners->lock);

	if (owners->answered)
		return;
	owners->open = mem_alloc((n + 1) * sizeof(*owners->open));
	for (size_t i = 0; i < n; i++)
		owners->open[owners->n_open++] = mem_strdup(ids[i]);
	set_answered(owners);
}

/* Returns the entry of the volume in owners->open, or NULL. */
static char **find_open(struct owners *owners, const char *id)
{
	for (size_t i = 0; i < owners->n_open; i++)
		if (owners->open[i] && strcmp(owners->open[i], id) == 0)
			return &owners->open[i];
	return NULL;
}

void owners_recorded(struct owners *owners, const char *id)
{
	scoped_lock(&owners->lock);
	char **open = find_open(owners, id);

	if (!open)
		return;
	free(*open);
	*open = NULL;
}

void owners_asked(struct owners *owners)
{
	scoped_lock(&owners->lock);

	drop_open(owners);
	set_answered(owners);
}

/* Wait for owners->answered until the time `until`, and return it. The caller holds the lock. */
static bool wait_until(struct owners *owners, int64_t until)
{
	const struct timespec at = {until / 1000, until % 1000 * 1000000};

	while (!owners->answered)
		if (pthread_cond_timedwait(&owners->changed, &owners->lock, &at) != 0)
			break;
	return owners->answered;
}

int owner_wait(const struct node *node, const struct dataset *volume, int64_t deadline,
	       struct error *err)
{
	const int64_t most = now_ms() + WAIT_MS;

	if (!*volume->members || !node->owners)
		return 0;
	scoped_lock(&node->owners->lock);
	const bool waits = !node->owners->answered;
	if (wait_until(node->owners, deadline < most ? deadline : most) &&
	    !find_open(node->owners, volume->id))
		return waits;
	return fail(err, ERR_UNAVAILABLE,
		    "zcsi-node of node '%s' was started, and still asks the nodes with copies of "
		    "volume '%s' who owns it: try again",
		    node->id, volume->id);
}

bool owner_is_confirmed(const struct node *node, const struct dataset *volume)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	return !node->boot || strcmp(ownership_parse(&arena, volume->owner).boot, node->boot) == 0;
}

int owner_check(const struct node *node, const struct dataset *volume, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	if (!*volume->members || !node->boot)
		return 0;
	const struct ownership ownership = ownership_parse(&arena, volume->owner);
	if (ownership.newer_epoch)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' took volume '%s' over by 'zcsi failover', so what node '%s' "
			    "has of it is not used any more: use it there, or move it here with "
			    "'zcsi move %s %s'",
			    ownership.newer, volume->id, node->id, volume->id, node->id);
	/* A volume without zcsi:owner is of a zcsi-node that had no failover yet. */
	if (!*volume->owner || strcmp(ownership.boot, node->boot) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' was booted, and too few of the nodes with copies of volume '%s' "
		    "have answered it since: one of them may have taken the volume over; start "
		    "zcsi-node on them, or, if none of them has it, run 'zcsi confirm %s'",
		    node->id, volume->id, volume->id);
}

char *owner_text(const struct node *node, struct arena *arena, const char *now)
{
	struct ownership ownership = ownership_parse(arena, now);

	ownership.newer_epoch = 0;
	ownership.boot = node->boot ? node->boot : "";
	return ownership_format(arena, &ownership);
}

int owner_record(const struct node *node, struct arena *arena, struct dataset *volume,
		 const struct ownership *ownership, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	volume->owner = ownership_format(arena, ownership);
	zfs_property(&properties, "zcsi:owner", volume->owner);
	if (ownership->newer_epoch) {
		volume->published = arena_strdup(arena, "");
		zfs_property(&properties, "zcsi:published", "-");
	}
	if (zfs_set(volume->name, &properties, err) < 0)
		return -1;
	catalog_put(node->catalog, volume);
	return 0;
}

int owner_confirm(const struct node *node, struct arena *arena, struct dataset *volume,
		  struct error *err)
{
	struct ownership ownership = ownership_parse(arena, volume->owner);

	ownership.boot = node->boot;
	return owner_record(node, arena, volume, &ownership, err);
}

char *owner_boot(struct arena *arena)
{
	auto_close int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
	char text[BOOT_MAX + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, BOOT_MAX);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, ",\n")] = '\0';
	return *text ? arena_strdup(arena, text) : lineage_new(arena);
}
