/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_STARTER_H
#define ZCSI_TEST_STARTER_H

/* A thread that starts one child after the other until starter_stop() is called. */

#include "tests/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/exec.h"

struct starter {
	pthread_t thread;
	atomic_bool stopping;
};

static inline void *starter_run(void *arg)
{
	const char *argv[] = {"true", NULL};
	struct starter *starter = arg;
	struct exec_result result;
	struct error err;

	while (!atomic_load(&starter->stopping))
		if (!exec_run(&(struct exec){.argv = argv}, &result, &err))
			exec_result_fini(&result);
	return NULL;
}

static inline void starter_start(struct starter *starter)
{
	atomic_init(&starter->stopping, false);
	assert_int_equal(pthread_create(&starter->thread, NULL, starter_run, starter), 0);
}

static inline void starter_stop(struct starter *starter)
{
	atomic_store(&starter->stopping, true);
	pthread_join(starter->thread, NULL);
}

#endif
