/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A list of those that still run. See unfinished.h.
 *
 * Invariant: each is in the list until its end was seen here, which also reaps it, so none is left
 * behind as a zombie, and no thread waits for one.
 */
#include "node/zfs/hung.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/mem.h"

struct hung {
	struct hung *next;
	struct child child;
	char *text;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hung *list;

static void (*tell)(void *arg, const char *text);
static void *tell_arg;

void hung_watch(void (*told)(void *arg, const char *text), void *arg)
{
	tell = told;
	tell_arg = arg;
}

/* The dataset, or the pool, that zfs and zpool take is their last word. */
static char *describe(const char *const *argv)
{
	size_t last = 0;
	char *text;

	while (argv[last + 1])
		last++;
	const char *name = argv[last];
	int pool = (int)strcspn(name, "/@");
	if (asprintf(
		    &text,
		    "'%s %s' of '%s' has not ended and may yet be done, so nothing is said of pool "
		    "'%.*s' before; when 'zpool status %.*s' shows that its devices fail, mend "
		    "them and run 'zpool clear %.*s'",
		    argv[0], argv[1], name, pool, name, pool, name, pool, name) < 0)
		abort();
	return text;
}

void hung_tell(const char *text)
{
	if (tell)
		tell(tell_arg, text);
}

int hung_add(int pidfd, const char *const *argv, struct error *err)
{
	struct hung *added = mem_alloc(sizeof(*added));

	*added = (struct hung){.child = CHILD_NONE, .text = describe(argv)};
	added->child.pidfd = pidfd;
	fail(err, ERR_UNAVAILABLE, "%s", added->text);
	pthread_mutex_lock(&mutex);
	added->next = list;
	list = added;
	pthread_mutex_unlock(&mutex);
	hung_tell(err->text);
	return -1;
}

char *hung_text(void)
{
	auto_unlock pthread_mutex_t *held = lock_take(&mutex);

	while (list && child_has_ended(&list->child)) {
		struct hung *ended = list;
		list = ended->next;
		child_reap(&ended->child);
		child_fini(&ended->child);
		free(ended->text);
		free(ended);
	}
	return list ? mem_strdup(list->text) : NULL;
}
