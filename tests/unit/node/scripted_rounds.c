/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Threads that work in rounds, without the thread: a test calls work.round itself. A test program
 * includes this file once, because each program of tests/unit has a single source file.
 */
#include "node/stream/rounds.h"

static struct rounds_work work; /* the work of the thread that was started last */

typeof(rounds_start) __wrap_rounds_start;
typeof(rounds_soon) __wrap_rounds_soon;
typeof(rounds_stopping) __wrap_rounds_stopping;
typeof(rounds_stop) __wrap_rounds_stop;

int __wrap_rounds_start(struct rounds **ret, const struct node *of, struct loop *on,
			const struct rounds_work *with, struct error *ret_err)
{
	(void)of, (void)on, (void)ret_err;
	*ret = NULL;
	work = *with;
	return 0;
}

void __wrap_rounds_soon(struct rounds *rounds)
{
	(void)rounds;
}

bool __wrap_rounds_stopping(struct rounds *rounds)
{
	(void)rounds;
	return false;
}

void __wrap_rounds_stop(struct rounds *rounds)
{
	(void)rounds;
}
