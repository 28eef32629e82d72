/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the workers: works with the same key run one at a time and in order, a lane runs no more
 * works than its bound, all others run concurrently. Handlers post semaphores that the test waits
 * for; the test itself runs the loop.
 */
#include "tests/cmocka.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "transport/workers.h"

#define N_THREADS 4
#define PATIENCE  20 /* timeout of a wait in seconds; reached only by a failure */

struct fixture {
	struct loop *loop;
	struct workers *workers;
	unsigned n_due, n_done; /* works submitted, and works done */
	unsigned order[4096];   /* the numbers of the works, in the order in which they began */
	atomic_uint n_begun;
};

struct job {
	struct work work;
	struct fixture *fixture;
	unsigned number;
	sem_t *begun, *may_end; /* NULL: the work does not post or does not wait */
	atomic_int *inside;     /* number of running works with the same key */
	bool alone;
	char key[16];
};

struct turn {
	struct loop_task task;
	struct loop *loop;
};

static void end_turn(struct loop_task *task)
{
	loop_stop(((struct turn *)task)->loop);
}

/* Wait for a semaphore. Run one turn of the loop first, because submitted works go to the threads
 * at the end of a turn. */
static void wait_for(struct fixture *fixture, sem_t *semaphore)
{
	struct turn turn = {.task.fn = end_turn, .loop = fixture->loop};
	struct timespec end;

	loop_post(fixture->loop, &turn.task);
	loop_run(fixture->loop);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	assert_int_equal(sem_timedwait(semaphore, &end), 0);
}

static void run(struct work *work)
{
	struct job *job = (struct job *)work;

	job->fixture->order[atomic_fetch_add(&job->fixture->n_begun, 1)] = job->number;
	job->alone = !job->inside || atomic_fetch_add(job->inside, 1) == 0;
	if (job->begun)
		sem_post(job->begun);
	if (job->may_end)
		sem_wait(job->may_end);
	if (job->inside)
		atomic_fetch_sub(job->inside, 1);
}

static void done(struct work *work)
{
	struct fixture *fixture = ((struct job *)work)->fixture;

	if (++fixture->n_done == fixture->n_due)
		loop_stop(fixture->loop);
}

static void submit(struct fixture *fixture, struct job *job, unsigned number, const char *key)
{
	job->fixture = fixture;
	job->number = number;
	job->work.run = run;
	job->work.done = done;
	if (key) {
		snprintf(job->key, sizeof(job->key), "%s", key);
		job->work.key = job->key;
	}
	fixture->n_due++;
	workers_submit(fixture->workers, &job->work);
}

static void run_all(struct fixture *fixture)
{
	if (fixture->n_done < fixture->n_due)
		loop_run(fixture->loop);
	assert_int_equal(fixture->n_done, fixture->n_due);
}

static int start(void **state)
{
	struct fixture *fixture = mem_alloc(sizeof(*fixture));
	struct error err;

	*state = fixture;
	if (loop_new(&fixture->loop, &err) < 0)
		return -1;
	return workers_new(&fixture->workers, fixture->loop, N_THREADS, &err);
}

static int stop(void **state)
{
	struct fixture *fixture = *state;

	workers_free(fixture->workers);
	loop_free(fixture->loop);
	mem_cleanup_free(&fixture);
	return 0;
}

static void works_of_a_key_run_alone_and_in_order(void **state)
{
	struct fixture *fixture = *state;
	static struct job jobs[1000];
	atomic_int inside = 0;

	for (unsigned i = 0; i < COUNT(jobs); i++) {
		jobs[i].inside = &inside;
		submit(fixture, &jobs[i], i, "vol");
	}
	run_all(fixture);
	for (unsigned i = 0; i < COUNT(jobs); i++) {
		assert_int_equal(fixture->order[i], i);
		assert_true(jobs[i].alone);
	}
}

/* Each of the four works waits for the others, so that they can only end if they run at the same
 * time. */
static void different_keys_run_at_the_same_time(void **state)
{
	struct fixture *fixture = *state;
	struct job jobs[N_THREADS] = {0};
	sem_t begun, may_end;
	char key[2] = "a";

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	for (unsigned i = 0; i < N_THREADS; i++, key[0]++) {
		jobs[i].begun = &begun;
		jobs[i].may_end = &may_end;
		submit(fixture, &jobs[i], i, i % 2 ? key : NULL);
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		wait_for(fixture, &begun);
	for (unsigned i = 0; i < N_THREADS; i++)
		sem_post(&may_end);
	run_all(fixture);
}

/* Ten times as many works wait for a slow key as there are threads, and a work with another key
 * still runs. */
static void waiting_works_occupy_no_thread(void **state)
{
	struct fixture *fixture = *state;
	static struct job slow[10 * N_THREADS];
	struct job other = {0};
	sem_t begun, may_end;

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	slow[0].may_end = &may_end;
	for (unsigned i = 0; i < COUNT(slow); i++)
		submit(fixture, &slow[i], i, "slow");
	other.begun = &begun;
	submit(fixture, &other, 1000, "other");
	wait_for(fixture, &begun);
	sem_post(&may_end);
	run_all(fixture);
}

static void waiting_work_can_be_withdrawn(void **state)
{
	struct fixture *fixture = *state;
	struct job jobs[4] = {0};
	sem_t begun, may_end;

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	jobs[0].begun = &begun;
	jobs[0].may_end = &may_end;
	for (unsigned i = 0; i < COUNT(jobs); i++)
		submit(fixture, &jobs[i], i, "vol");
	wait_for(fixture, &begun);
	assert_false(workers_withdraw(&jobs[0].work));
	assert_true(workers_withdraw(&jobs[1].work)); /* the middle of the queue */
	assert_true(workers_withdraw(&jobs[3].work)); /* the last of the queue */
	fixture->n_due -= 2;
	submit(fixture, &jobs[1], 1, "vol"); /* submitted again, behind the others */
	sem_post(&may_end);
	run_all(fixture);
	assert_int_equal(fixture->n_begun, 3);
	assert_int_equal(fixture->order[1], 2);
	assert_int_equal(fixture->order[2], 1);
}

/* Submit n works to lane 1, which runs one work at a time, and wait until the first one runs. No
 * work ends before `may_end` is posted. */
static void fill_lane(struct fixture *fixture, struct job *jobs, unsigned n, sem_t *begun,
		      sem_t *may_end)
{
	workers_bound(fixture->workers, 1, 1);
	for (unsigned i = 0; i < n; i++) {
		jobs[i].work.lane = 1;
		jobs[i].may_end = may_end;
		submit(fixture, &jobs[i], i, NULL);
	}
	jobs[0].begun = begun;
	wait_for(fixture, begun);
}

static void full_lane_leaves_threads_for_others(void **state)
{
	struct fixture *fixture = *state;
	static struct job slow[10 * N_THREADS];
	struct job others[N_THREADS - 1] = {0};
	sem_t begun, may_end, others_may_end;

	memset(slow, 0, sizeof(slow));
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	sem_init(&others_may_end, 0, 0);
	fill_lane(fixture, slow, COUNT(slow), &begun, &may_end);
	for (unsigned i = 0; i < COUNT(others); i++) {
		others[i].begun = &begun;
		others[i].may_end = &others_may_end;
		submit(fixture, &others[i], 1000 + i, NULL);
	}
	for (unsigned i = 0; i < COUNT(others); i++)
		wait_for(fixture, &begun);
	assert_int_equal(fixture->n_begun, 1 + COUNT(others));
	for (unsigned i = 0; i < COUNT(others); i++)
		sem_post(&others_may_end);
	for (unsigned i = 0; i < COUNT(slow); i++)
		sem_post(&may_end);
	run_all(fixture);
	for (unsigned i = 0; i < COUNT(slow); i++)
		assert_int_equal(fixture->order[i ? COUNT(others) + i : 0], i);
}

/* Two works of a key wait for their full lane. Another work of the key, in a lane that is free,
 * does not wait for them. */
static void work_that_waits_for_its_lane_is_overtaken(void **state)
{
	struct fixture *fixture = *state;
	struct job slow[1] = {0}, waiting[3] = {0}, other = {0};
	sem_t begun, may_end;
	atomic_int inside = 0;

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	fill_lane(fixture, slow, COUNT(slow), &begun, &may_end);
	for (unsigned i = 0; i < COUNT(waiting); i++) {
		waiting[i].work.lane = 1;
		waiting[i].inside = &inside;
		submit(fixture, &waiting[i], 10 + i, i < 2 ? "vol" : "other");
	}
	other.begun = &begun;
	other.inside = &inside;
	submit(fixture, &other, 20, "vol");
	wait_for(fixture, &begun);
	fixture->n_due -= 4;
	run_all(fixture);
	fixture->n_due += 4;
	sem_post(&may_end);
	run_all(fixture);
	const unsigned order[] = {0, 20, 10, 12, 11};
	for (unsigned i = 0; i < COUNT(order); i++)
		assert_int_equal(fixture->order[i], order[i]);
}

static void work_that_waits_for_its_lane_can_be_withdrawn(void **state)
{
	struct fixture *fixture = *state;
	struct job slow[4] = {0}, keyed[3] = {0};
	sem_t begun, may_end;

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	fill_lane(fixture, slow, COUNT(slow), &begun, &may_end);
	for (unsigned i = 0; i < COUNT(keyed); i++) {
		keyed[i].work.lane = 1;
		submit(fixture, &keyed[i], 10 + i, "vol");
	}
	assert_false(workers_withdraw(&slow[0].work));
	assert_true(workers_withdraw(&slow[3].work));
	assert_true(workers_withdraw(&slow[1].work));
	assert_true(workers_withdraw(&keyed[0].work)); /* keyed[1] takes the place of keyed[0] */
	assert_true(workers_withdraw(&keyed[2].work));
	fixture->n_due -= 4;
	sem_post(&may_end);
	sem_post(&may_end);
	run_all(fixture);
	assert_int_equal(fixture->n_begun, 3);
	assert_int_equal(fixture->order[1], 2);
	assert_int_equal(fixture->order[2], 11);
}

static void work_without_key_is_never_withdrawn(void **state)
{
	struct fixture *fixture = *state;
	struct job job = {0};

	submit(fixture, &job, 0, NULL);
	assert_false(workers_withdraw(&job.work));
	run_all(fixture);
}

/* The test uses more keys than the table has slots, and three works per key. */
static void many_keys_stay_apart(void **state)
{
	struct fixture *fixture = *state;
	static struct job jobs[3000];
	static atomic_int inside[1000];
	unsigned last[1000] = {0};

	for (unsigned i = 0; i < COUNT(jobs); i++) {
		char key[16];
		snprintf(key, sizeof(key), "key %u", i % 1000);
		jobs[i].inside = &inside[i % 1000];
		submit(fixture, &jobs[i], i, key);
	}
	run_all(fixture);
	for (unsigned i = 0; i < COUNT(jobs); i++) {
		unsigned number = fixture->order[i];
		assert_true(jobs[i].alone);
		assert_true(number >= last[number % 1000]);
		last[number % 1000] = number;
	}
}

/* A done callback that submits its work again, a hundred times in all. */
static void done_again(struct work *work)
{
	struct job *job = (struct job *)work;

	if (++job->number < 100)
		workers_submit(job->fixture->workers, work);
	else
		done(work);
}

static void work_may_be_submitted_from_done(void **state)
{
	struct fixture *fixture = *state;
	struct job job = {0};

	submit(fixture, &job, 0, "vol");
	job.work.done = done_again;
	run_all(fixture);
	assert_int_equal(fixture->n_begun, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
		TEST(works_of_a_key_run_alone_and_in_order),
		TEST(different_keys_run_at_the_same_time),
		TEST(waiting_works_occupy_no_thread),
		TEST(waiting_work_can_be_withdrawn),
		TEST(full_lane_leaves_threads_for_others),
		TEST(work_that_waits_for_its_lane_is_overtaken),
		TEST(work_that_waits_for_its_lane_can_be_withdrawn),
		TEST(work_without_key_is_never_withdrawn),
		TEST(many_keys_stay_apart),
		TEST(work_may_be_submitted_from_done),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
