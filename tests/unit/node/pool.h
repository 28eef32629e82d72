/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_POOL_H
#define ZCSI_TEST_POOL_H

/* A real pool on a sparse file, for tests that need one; ZFS may be the kernel's or zfs-fuse.
 * Without root such tests are skipped. As root they fail if no ZFS runs (jobs/local/with-zfs). */

#include <stdio.h>

struct pool {
	char name[32];
	char parent[40];
	char directory[64];
	char file[80];
	bool made;
};

/* Run a shell command of the test, given as a printf format. Returns the status of system(3). zcsi
 * itself never runs a shell. */
__attribute__((format(printf, 1, 2))) static inline int shell(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return system(line);
}

static inline void pool_name(struct pool *pool)
{
	snprintf(pool->name, sizeof(pool->name), "node-unit-%d", (int)getpid());
	snprintf(pool->parent, sizeof(pool->parent), "%s/p", pool->name);
	snprintf(pool->directory, sizeof(pool->directory), "/tmp/%s", pool->name);
	snprintf(pool->file, sizeof(pool->file), "%s/disk", pool->directory);
}

static inline int pool_make(struct pool *pool)
{
	pool_name(pool);
	if (geteuid() || shell("zpool list >/dev/null 2>&1"))
		return 0;
	if (shell("mkdir %s && truncate -s 256M %s && "
		  "zpool create -m none -o cachefile=none %s %s >/dev/null && "
		  "zfs create -o mountpoint=none %s",
		  pool->directory, pool->file, pool->name, pool->file, pool->parent))
		return -1;
	pool->made = true;
	return 0;
}

/* Destroy the pool, with retries: zfs-fuse may report a pool as busy for a moment after an
 * unmount. */
static inline int pool_destroy(struct pool *pool)
{
	int failed = pool->made;

	for (int tries = 0; failed && tries < 50; tries++) {
		failed = shell("zpool destroy %s 2>/dev/null", pool->name);
		usleep(failed ? 100000 : 0);
	}
	return shell("rm -rf %s", pool->directory) || failed;
}
/* Returns the number of rounds of a random test: `many`, divided by PATIENCE on slow hosts. */
static inline int rounds(int many)
{
	const char *patience = getenv("PATIENCE");

	return patience ? many / atoi(patience) : many;
}

static inline void need_pool(const struct pool *pool)
{
	need_root();
	assert_true(pool->made);
}

#endif
