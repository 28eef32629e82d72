/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Asking agents which nodes they are. Clients are made and freed on the loop, because their timers
 * are the loop's.
 *
 * Invariant: a scan has AT_ONCE connections at most, and there is one scan at a time.
 */
#include "node/peers/peers_inside.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "proto/agent.h"

#define AT_ONCE 32
#define ASK_MS  5000 /* the longest wait for one agent */

/* Clients */

struct peers_closing {
	struct client *client;
	struct peers_closing *next;
};

struct opening {
	struct loop_task task;
	struct peers *peers;
	const char *endpoint;
	const struct client_options *options;
	struct client *client;
	struct error *err;
	int result;
	sem_t done;
};

static void open_on_loop(struct loop_task *task)
{
	struct opening *opening = container_of(task, struct opening, task);

	opening->result = client_new(&opening->client, opening->peers->loop, opening->endpoint,
				     opening->options, opening->err);
	sem_post(&opening->done);
}

static int open_client(struct peers *peers, const char *endpoint,
		       const struct client_options *options, struct client **ret, struct error *err)
{
	struct opening opening = {.task.fn = open_on_loop,
				  .peers = peers,
				  .endpoint = endpoint,
				  .options = options,
				  .err = err};

	sem_init(&opening.done, 0, 0);
	loop_post(peers->loop, &opening.task);
	while (sem_wait(&opening.done) < 0 && errno == EINTR)
		;
	sem_destroy(&opening.done);
	*ret = opening.client;
	return opening.result;
}

static struct peers_closing *take_closing(struct peers *peers)
{
	scoped_lock(&peers->lock);

	return steal_ptr(peers->closing);
}

void peers_ask_reap(struct loop_task *task)
{
	struct peers_closing *next;

	for (struct peers_closing *all = take_closing(container_of(task, struct peers, reap)); all;
	     all = next) {
		next = all->next;
		client_free(all->client);
		free(all);
	}
}

void peers_hang_up(struct peers *peers, struct client *client)
{
	struct peers_closing *closing = mem_alloc(sizeof(*closing));
	scoped_lock(&peers->lock);

	*closing = (struct peers_closing){.client = client, .next = peers->closing};
	if (!peers->closing)
		loop_post(peers->loop, &peers->reap);
	peers->closing = closing;
}

/* Asking an agent */

struct client_options peers_client_options(const struct peers *peers)
{
	const struct trust *trust = peers->options.trust;

	return (struct client_options){.tls = trust->tls, .allow_plaintext = trust->insecure};
}

void peers_ask_begin(struct peers *peers, struct arena *arena, struct peers_question *question,
		     const struct client_options *options, int64_t deadline)
{
	int64_t half = time_left_ms(deadline) / 2;

	if (half == 0) {
		fail(&question->error, ERR_DEADLINE_EXCEEDED,
		     "'%s' was not asked before the deadline", question->endpoint);
		return;
	}
	if (open_client(peers, question->endpoint, options, &question->client, &question->error) <
	    0)
		return;
	question->call = client_begin(question->client, arena, &zcsi__v1__agent__descriptor,
				      "GetHost", &new_get_host_request(arena)->base,
				      now_ms() + (half < ASK_MS ? half : ASK_MS));
}

void peers_ask_finish(struct peers_question *question)
{
	if (!question->client)
		return;
	if (client_finish(question->call, &question->host, &question->error) == 0)
		question->node = question->host->node_id;
	else if (!strstr(question->error.text, question->endpoint))
		fail_context(&question->error, "'%s'", question->endpoint);
}

/* Asking all agents */

void peers_ask_fini(struct peers *peers)
{
	for (size_t i = 0; i < peers->n_answers; i++) {
		free(peers->answers[i].endpoint);
		free(peers->answers[i].node);
		free(peers->answers[i].problem);
	}
	free(peers->answers);
}

/* Keep the answers, and end the scan. */
static void keep(struct peers *peers, const struct peers_question *questions, size_t n,
		 bool is_whole)
{
	scoped_lock(&peers->lock);

	peers_ask_fini(peers);
	peers->answers = mem_alloc(n * sizeof(*peers->answers));
	peers->n_answers = n;
	peers->n_scans += is_whole;
	peers->scanning = false;
	pthread_cond_broadcast(&peers->scanned);
	for (size_t i = 0; i < n; i++) {
		const struct peers_question *question = &questions[i];
		peers->answers[i].endpoint = mem_strdup(question->endpoint);
		if (question->node)
			peers->answers[i].node = mem_strdup(question->node);
		else
			peers->answers[i].problem = mem_strdup(question->error.text);
	}
}

/*
 * Ask all endpoints. The oldest question is finished before one more than AT_ONCE is begun. Returns
 * the questions.
 */
static struct peers_question *scan(struct peers *peers, struct arena *arena,
				   const struct option_list *list, int64_t deadline)
{
	struct peers_question *questions = arena_alloc(arena, list->n * sizeof(*questions));
	const struct client_options options = peers_client_options(peers);

	for (size_t i = 0; i < list->n + AT_ONCE; i++) {
		if (i >= AT_ONCE) {
			struct peers_question *oldest = &questions[i - AT_ONCE];
			peers_ask_finish(oldest);
			if (oldest->client)
				peers_hang_up(peers, oldest->client);
		}
		if (i < list->n) {
			questions[i].endpoint = list->values[i];
			peers_ask_begin(peers, arena, &questions[i], &options, deadline);
		}
	}
	keep(peers, questions, list->n, time_left_ms(deadline) > 0);
	return questions;
}

/*
 * Wait until no other thread scans. Returns 0; 1 if a scan has ended meanwhile, whose answers can
 * be used; or -1 with *err. The caller has the lock, which is released meanwhile.
 */
static int wait_for_scan(struct peers *peers, int64_t deadline, struct error *err)
{
	int64_t left = time_left_ms(deadline);
	int64_t until = now_ms() + (left < INT32_MAX ? left : INT32_MAX);
	const struct timespec time = {until / 1000, until % 1000 * 1000000};
	unsigned before = peers->n_scans;
	int status = 0;

	while (peers->scanning && peers->n_scans == before && status == 0)
		status = pthread_cond_clockwait(&peers->scanned, &peers->lock, CLOCK_MONOTONIC,
						&time);
	if (peers->n_scans != before)
		return 1;
	if (!peers->scanning)
		return 0;
	return fail(err, ERR_DEADLINE_EXCEEDED, "the deadline passed before all agents were asked");
}

/* Begin a scan, unless another one has ended meanwhile. Returns as wait_for_scan does. */
static int begin_scan(struct peers *peers, int64_t deadline, struct error *err)
{
	scoped_lock(&peers->lock);
	int waited = wait_for_scan(peers, deadline, err);

	if (waited == 0)
		peers->scanning = true;
	return waited;
}

/* Begin a scan, once no other thread scans. Returns 0, or -1 with *err. */
static int begin_own_scan(struct peers *peers, int64_t deadline, struct error *err)
{
	scoped_lock(&peers->lock);
	int waited;

	do
		waited = wait_for_scan(peers, deadline, err);
	while (waited > 0 && peers->scanning);
	if (waited < 0)
		return -1;
	peers->scanning = true;
	return 0;
}

int peers_ask_all(struct peers *peers, struct arena *arena, const struct option_list *list,
		  int64_t deadline, struct error *err)
{
	int waited = begin_scan(peers, deadline, err);

	if (waited != 0)
		return waited < 0 ? -1 : 0;
	scan(peers, arena, list, deadline);
	return 0;
}

int peers_ask_each(struct peers *peers, struct arena *arena, const struct option_list *list,
		   int64_t deadline, struct peers_question **ret, struct error *err)
{
	if (begin_own_scan(peers, deadline, err) < 0)
		return -1;
	*ret = scan(peers, arena, list, deadline);
	return 0;
}
