/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The feed: runs `zpool events` and makes the catalog read the names that its events report.
 *
 * Invariant: the catalog relies on events only while the program runs, and the whole pool is read
 * when the program starts and when it ends. The kernel first reports old events; those from before
 * the start of the feed are skipped. The program reports the events of all pools: with a pool's
 * name it would report a loss of events only together with the next event of that pool.
 *
 * A change that zcsi-node made itself has an event too, so the name is read again. That event looks
 * like one of a change by another program: it names no process, and zpool prints values raw, so
 * another program's value can be made to look like the one that zcsi-node set.
 */
#include "node/catalog/feed.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/follow.h"
#include "common/log.h"
#include "common/thread.h"
#include "node/zfs/events.h"
#include "node/zfs/zfs.h"

#define RETRY_MS      1000   /* first pause after `zpool events` ended; doubles */
#define RETRY_MAX_MS  300000 /* longest pause; RETRY_MS if `zpool events` ran longer than this */
#define LOOK_MS       60000  /* interval of checking whether a ZFS with events was loaded */
#define OLD_EVENTS_MS 10000  /* after this time the kernel has reported all old events */
#define TICK_MS       10     /* an event's time may be this much before the clock */

struct feed {
	struct catalog *catalog;
	struct events events;
	struct follow follow;
	bool runs;
	int64_t began;
	int stop; /* an eventfd, readable when the thread is to end */
	pthread_t thread;
};

static const char *const argv[] = {"zpool", "events", "-Hfv", NULL};

static int64_t wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void begin(struct feed *feed)
{
	struct error err;

	feed->began = now_ms();
	feed->events = (struct events){.parent = catalog_parent(feed->catalog)};
	if (follow_start(&feed->follow, argv, &err) < 0) {
		log_warn("cannot start zpool events", log_str("error", err.text));
		return;
	}
	feed->runs = true;
	log_info("zpool events is running");
	catalog_follow(feed->catalog, true);
}

static void take_line(void *arg, const char *line)
{
	struct feed *feed = arg;
	struct changed changed;

	/* After OLD_EVENTS_MS each event is new. If its time is old, the clock was set back. */
	if (now_ms() - feed->began > OLD_EVENTS_MS)
		feed->events.since = 0;
	if (!events_line(&feed->events, line, &changed))
		return;
	if (changed.all)
		catalog_rescan_soon(feed->catalog);
	for (size_t i = 0; i < changed.n; i++)
		catalog_mark_stale(feed->catalog, changed.names[i]);
}

/* Handle events until the program ends. Returns false if the thread is to end. */
static bool follow(struct feed *feed)
{
	struct error err;

	int ended = follow_lines(&feed->follow, feed->stop, take_line, feed, &err);
	feed->runs = false;
	if (!ended)
		return false;
	log_warn("cannot follow zpool events", log_str("error", err.text));
	catalog_follow(feed->catalog, false);
	return true;
}

/* Sleep for ms. Returns false if the thread is to end. */
static bool rest(const struct feed *feed, int64_t ms)
{
	struct pollfd stop = {.fd = feed->stop, .events = POLLIN};

	return poll(&stop, 1, (int)ms) <= 0;
}

static int64_t pause_after(const struct feed *feed, int64_t pause)
{
	if (!zfs_reports_events())
		return LOOK_MS;
	if (now_ms() - feed->began > RETRY_MAX_MS)
		return RETRY_MS;
	return pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS;
}

static void *run(void *arg)
{
	struct feed *feed = arg;
	int64_t pause = RETRY_MS / 2;

	do {
		if (!feed->runs && zfs_reports_events())
			begin(feed);
		if (feed->runs && !follow(feed))
			break;
		pause = pause_after(feed, pause);
	} while (rest(feed, pause));
	return NULL;
}

static void feed_free(struct feed *feed)
{
	if (feed->runs)
		follow_end(&feed->follow);
	mem_cleanup_close(&feed->stop);
	free(feed);
}

struct feed *feed_start(struct catalog *catalog, struct error *err)
{
	struct feed *feed = mem_alloc(sizeof(*feed));

	feed->catalog = catalog;
	feed->stop = eventfd(0, EFD_CLOEXEC);
	if (feed->stop >= 0 && zfs_reports_events()) {
		begin(feed);
		feed->events.since = wall_ms() - TICK_MS;
	}
	if (feed->stop >= 0 && !thread_start(&feed->thread, NULL, run, feed))
		return feed;
	fail_errno(err, "cannot start the feed's thread");
	feed_free(feed);
	return NULL;
}

void feed_stop(struct feed *feed)
{
	if (!feed)
		return;
	eventfd_write(feed->stop, 1);
	pthread_join(feed->thread, NULL);
	feed_free(feed);
}
