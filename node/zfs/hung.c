/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The list of processes that outlived their timeout.
 *
 * Invariant: a process is in the list until hung_text sees its end and reaps it, so none becomes a
 * zombie, and no thread waits for one.
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

static void (*watcher)(void *arg, const char *text);
static void *watcher_arg;

void hung_watch(void (*report)(void *arg, const char *text), void *arg)
{
	watcher = report;
	watcher_arg = arg;
}

/*
 * Returns the dataset or the pool of a command line: its last word. The words of `zfs program --
 * POOL - ...` end in arguments of the program. NULL for `zfs send -t TOKEN`, which names none.
 */
static const char *object_of(const char *const *argv)
{
	size_t last = 0;

	if (strcmp(argv[1], "program") == 0)
		return argv[3];
	while (argv[last + 1])
		last++;
	return strcmp(argv[last - 1], "-t") != 0 ? argv[last] : NULL;
}

static char *describe(const char *const *argv)
{
	const char *name = object_of(argv);
	int pool = name ? (int)strcspn(name, "/@") : 0;
	char *text;
	int length;

	if (name)
		length = asprintf(&text,
				  "'%s %s' of '%s' has not ended and may still take effect, so "
				  "pool '%.*s' is unavailable until it ends; if 'zpool status "
				  "%.*s' shows failed devices, repair them and run 'zpool clear "
				  "%.*s'",
				  argv[0], argv[1], name, pool, name, pool, name, pool, name);
	else
		length = asprintf(&text,
				  "'%s %s' has not ended, so the pool is unavailable until it "
				  "ends; if 'zpool status' shows failed devices, repair them and "
				  "run 'zpool clear'",
				  argv[0], argv[1]);
	if (length < 0)
		abort();
	return text;
}

void hung_report(const char *text)
{
	if (watcher)
		watcher(watcher_arg, text);
}

int hung_add(int pidfd, const char *const *argv, struct error *err)
{
	struct hung *added = mem_alloc(sizeof(*added));

	*added = (struct hung){.child = CHILD_NONE, .text = describe(argv)};
	added->child.pidfd = pidfd;
	fail(err, ERR_UNAVAILABLE, "%s", added->text);
	{
		scoped_lock(&mutex);
		added->next = list;
		list = added;
	}
	hung_report(err->text);
	return -1;
}

char *hung_text(void)
{
	scoped_lock(&mutex);

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
