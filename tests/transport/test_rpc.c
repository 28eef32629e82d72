/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Both ends of the transport in one process: a server on one loop, clients on another, and the test
 * as the caller. The service is zcsi.v1.Agent with methods that echo, fail, send large answers, or
 * wait until the test lets them end.
 */
#include "tests/cmocka.h"

#include <stdio.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/agent.h"
#include "proto/csi.h"
#include "tests/transport/looper.h"
#include "tests/transport/service.h"
#include "transport/client.h"
#include "transport/server.h"

#define AGENT (&zcsi__v1__agent__descriptor)

static struct {
	struct limits limits; /* limits of server and client */
	struct looper server_loop, client_loop;
	struct workers *workers;
	struct server *server;
	bool draining;
	struct client *client;
	struct arena arena;
	char folder[32], endpoint[64];
} ends;

static void start_server(void)
{
	struct error err;

	assert_int_equal(loop_new(&ends.server_loop.loop, &err), 0);
	assert_int_equal(workers_new(&ends.workers, ends.server_loop.loop, 8, &err), 0);
	ends.server = server_new(ends.server_loop.loop, ends.workers, &ends.limits);
	assert_int_equal(server_listen(ends.server, ends.endpoint,
				       &(struct server_offer){.services = services}, &err),
			 0);
	looper_start(&ends.server_loop);
}

static void drain(void *arg)
{
	(void)arg;
	server_drain(ends.server, looper_stop, ends.server_loop.loop);
}

static void begin_drain(void)
{
	ends.draining = true;
	looper_do(&ends.server_loop, drain, NULL);
}

/* Drain the server and wait for its end. Calls in flight must end by themselves. */
static void stop_server(void)
{
	if (!ends.server)
		return;
	if (!ends.draining)
		begin_drain();
	pthread_join(ends.server_loop.thread, NULL);
	ends.draining = false;
	server_free(ends.server);
	ends.server = NULL;
	workers_free(ends.workers);
	loop_free(ends.server_loop.loop);
}

/* Returns a TCP port that is not in use. */
static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static int start_ends(const char *endpoint)
{
	const struct client_options options = {.limits = &ends.limits};
	struct error err;

	memset(&service, 0, sizeof(service));
	sem_init(&service.begun, 0, 0);
	sem_init(&service.may_end, 0, 0);
	ends.limits = limits_default;
	ends.limits.wait_ms = 1000;
	snprintf(ends.endpoint, sizeof(ends.endpoint), "%s", endpoint);
	arena_init(&ends.arena, SIZE_MAX);
	if (loop_new(&ends.client_loop.loop, &err) < 0 ||
	    client_new(&ends.client, ends.client_loop.loop, ends.endpoint, &options, &err) < 0)
		return -1;
	looper_start(&ends.client_loop);
	start_server();
	return 0;
}

static int start_unix(void **state)
{
	char endpoint[64];

	(void)state;
	snprintf(ends.folder, sizeof(ends.folder), "/tmp/zcsi-rpc-XXXXXX");
	if (!mkdtemp(ends.folder))
		return -1;
	snprintf(endpoint, sizeof(endpoint), "unix://%s/s", ends.folder);
	return start_ends(endpoint);
}

static int start_tcp(void **state)
{
	char endpoint[64];

	(void)state;
	*ends.folder = '\0';
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d", free_port());
	return start_ends(endpoint);
}

static int stop_ends(void **state)
{
	(void)state;
	stop_server();
	looper_do(&ends.client_loop, looper_stop, ends.client_loop.loop);
	pthread_join(ends.client_loop.thread, NULL);
	client_free(ends.client);
	loop_free(ends.client_loop.loop);
	arena_fini(&ends.arena);
	return *ends.folder ? rmdir(ends.folder) : 0;
}

/* Functions that begin and end calls. */

static int64_t in_ms(int64_t ms)
{
	return now_ms() + ms;
}

static struct client_call *begin(const char *method, const void *request, int64_t deadline)
{
	return client_begin(ends.client, &ends.arena, AGENT, method, request, deadline);
}

/* Returns the code of the call, with its text in *err. *ret_response, if not NULL, gets the
 * response. */
static enum error_code finish(struct client_call *call, void *ret_response, struct error *err)
{
	void *ignored;

	*err = (struct error){0};
	if (client_finish(call, ret_response ? ret_response : &ignored, err) == 0)
		return ERR_OK;
	assert_int_not_equal(err->code, ERR_OK);
	return err->code;
}

static struct client_call *begin_get(const char *id, int64_t deadline)
{
	GetDatasetRequest *request = new_get_dataset_request(&ends.arena);

	request->id = arena_strdup(&ends.arena, id);
	return begin("GetDataset", request, deadline);
}

static struct client_call *begin_on(struct client *client, const char *id, int64_t size,
				    int64_t deadline)
{
	ResizeDatasetRequest *request = new_resize_dataset_request(&ends.arena);

	request->id = arena_strdup(&ends.arena, id);
	request->size = size;
	return client_begin(client, &ends.arena, AGENT, "ResizeDataset", &request->base, deadline);
}

static struct client_call *begin_resize(const char *id, int64_t size, int64_t deadline)
{
	return begin_on(ends.client, id, size, deadline);
}

static enum error_code get(const char *id, struct error *err)
{
	return finish(begin_get(id, NO_DEADLINE), NULL, err);
}

/* Repeat a call until it ends with the code, since another thread may take a moment. */
static void get_until(enum error_code code)
{
	int64_t end = in_ms(PATIENCE * 1000);
	struct error err;

	while (get("a", &err) != code)
		assert_true(now_ms() < end);
}

/* Tests of calls. */

static void answers_come_back(void **state)
{
	(void)state;
	struct error err;
	GetDatasetResponse *dataset;
	GetHostResponse *host;

	assert_int_equal(finish(begin_get("gr\xc3\xbcn/\xf0\x9f\x98\x80", NO_DEADLINE), &dataset,
				&err),
			 ERR_OK);
	assert_string_equal(dataset->dataset->id, "gr\xc3\xbcn/\xf0\x9f\x98\x80");
	assert_int_equal(finish(begin("GetHost", new_get_host_request(&ends.arena), NO_DEADLINE),
				&host, &err),
			 ERR_OK);
	assert_string_equal(host->node_id, "inline");
}

static void errors_come_back_as_they_were(void **state)
{
	(void)state;
	static const char *const texts[] = {"volume 'a' does not exist", "100% \xe2\x82\xac\n", ""};
	CreateDatasetRequest *request = new_create_dataset_request(&ends.arena);
	struct error err;

	for (int code = ERR_CANCELLED; code <= ERR_UNAUTHENTICATED; code++) {
		request->size = code;
		request->parameters = (char *)(uintptr_t)texts[code % 3];
		assert_int_equal(finish(begin("CreateDataset", request, NO_DEADLINE), NULL, &err),
				 code);
		if (*texts[code % 3])
			assert_string_equal(err.text, texts[code % 3]);
		else
			assert_non_null(strstr(err.text, error_name(code)));
	}
}

static void unknown_methods_are_unimplemented(void **state)
{
	(void)state;
	struct error err;
	DestroyDatasetRequest *destroy = new_destroy_dataset_request(&ends.arena);
	ProbeRequest *probe = new_probe_request(&ends.arena);

	assert_int_equal(finish(begin("DestroyDataset", destroy, NO_DEADLINE), NULL, &err),
			 ERR_UNIMPLEMENTED);
	assert_non_null(strstr(err.text, "DestroyDataset"));
	struct client_call *call =
		client_begin(ends.client, &ends.arena, &csi__v1__identity__descriptor, "Probe",
			     &probe->base, NO_DEADLINE);
	assert_int_equal(finish(call, NULL, &err), ERR_UNIMPLEMENTED);
	assert_non_null(strstr(err.text, "csi.v1.Identity"));
}

static void bad_text_is_refused(void **state)
{
	(void)state;
	struct error err;

	assert_int_equal(get("a\xff", &err), ERR_INVALID_ARGUMENT);
	assert_non_null(strstr(err.text, "'id'"));
}

/* A message of this text, a tag and four bytes of length has exactly the maximum size. */
#define TEXT_MAX_BYTES ((size_t)(4 << 20) - 5)

static void requests_are_taken_up_to_the_limit(void **state)
{
	(void)state;
	struct error err;
	auto_free char *id = mem_alloc(TEXT_MAX_BYTES + 2);
	ResizeDatasetRequest *request = new_resize_dataset_request(&ends.arena);

	memset(id, 'x', TEXT_MAX_BYTES);
	request->id = id;
	assert_int_equal(finish(begin("ResizeDataset", request, NO_DEADLINE), NULL, &err), ERR_OK);
	id[TEXT_MAX_BYTES] = 'x';
	assert_int_equal(finish(begin("ResizeDataset", request, NO_DEADLINE), NULL, &err),
			 ERR_RESOURCE_EXHAUSTED);
	assert_int_equal(service.n_order, 1);
	assert_int_equal(get("the connection is as good as before", &err), ERR_OK);
}

static void answers_are_sent_up_to_the_limit(void **state)
{
	(void)state;
	struct error err;
	ListDatasetsRequest *request = new_list_datasets_request(&ends.arena);
	ListDatasetsResponse *response;

	/* The text is in a nested message, which has a tag and a length of its own. */
	request->max = TEXT_MAX_BYTES - 5;
	assert_int_equal(finish(begin("ListDatasets", request, NO_DEADLINE), &response, &err),
			 ERR_OK);
	assert_int_equal(strlen(response->datasets[0]->parameters), request->max);
	request->max++;
	assert_int_equal(finish(begin("ListDatasets", request, NO_DEADLINE), NULL, &err),
			 ERR_RESOURCE_EXHAUSTED);
}

static void deadline_ends_the_call_but_not_the_work(void **state)
{
	(void)state;
	struct error err;
	struct client_call *call = begin_resize("vol", WAIT, in_ms(300));

	wait_for(&service.begun);
	assert_int_equal(finish(call, NULL, &err), ERR_DEADLINE_EXCEEDED);
	assert_int_equal(service.n_ran, 0);
	sem_post(&service.may_end);
	get_until(ERR_OK);
	stop_server();
	assert_int_equal(service.n_ran, 1);
}

static void past_deadline_is_exceeded(void **state)
{
	(void)state;
	struct error err;

	assert_int_equal(finish(begin_resize("a", 1, in_ms(-10)), NULL, &err),
			 ERR_DEADLINE_EXCEEDED);
	assert_int_equal(finish(begin_resize("a", 1, in_ms(0)), NULL, &err), ERR_DEADLINE_EXCEEDED);
	stop_server();
	assert_int_equal(service.n_order, 0);
}

/* Two calls whose caller no longer waits still count against a limit of two. */
static void abandon_two(unsigned *limit)
{
	struct error err;
	struct client_call *first, *second;
	unsigned before = *limit;

	stop_server();
	*limit = 2;
	start_server();
	get_until(ERR_OK);
	first = begin_resize("one", WAIT, in_ms(300));
	second = begin_resize("two", WAIT, in_ms(300));
	assert_int_equal(finish(first, NULL, &err), ERR_DEADLINE_EXCEEDED);
	assert_int_equal(finish(second, NULL, &err), ERR_DEADLINE_EXCEEDED);
	assert_int_equal(get("a", &err), ERR_UNAVAILABLE);
	sem_post(&service.may_end);
	sem_post(&service.may_end);
	get_until(ERR_OK);
	stop_server();
	*limit = before;
}

static void abandoned_work_is_counted(void **state)
{
	(void)state;
	abandon_two(&ends.limits.connection_calls);
	abandon_two(&ends.limits.calls);
	assert_int_equal(service.n_ran, 4);
}

static void call_queued_until_its_deadline_is_aborted(void **state)
{
	(void)state;
	struct error err;
	struct client_call *runs = begin_resize("vol", WAIT, NO_DEADLINE);

	wait_for(&service.begun);
	assert_int_equal(finish(begin_resize("vol", 1, in_ms(3000)), NULL, &err), ERR_ABORTED);
	assert_non_null(strstr(err.text, "'vol'"));
	assert_int_equal(finish(begin_resize("other", 2, in_ms(10000)), NULL, &err), ERR_OK);
	sem_post(&service.may_end);
	assert_int_equal(finish(runs, NULL, &err), ERR_OK);
	assert_int_equal(finish(begin_resize("vol", 3, NO_DEADLINE), NULL, &err), ERR_OK);
	assert_int_equal(service.n_order, 3);
	assert_int_equal(service.order[2], 3);
}

static void a_thousand_calls_at_once_are_answered(void **state)
{
	(void)state;
	static struct client_call *calls[1000];
	struct error err;
	char id[8];

	ends.limits.wait_ms = PATIENCE * 1000;
	for (unsigned i = 0; i < COUNT(calls); i++) {
		snprintf(id, sizeof(id), "%u", i);
		calls[i] = begin_get(id, NO_DEADLINE);
	}
	for (unsigned i = 0; i < COUNT(calls); i++) {
		GetDatasetResponse *response;
		snprintf(id, sizeof(id), "%u", i);
		assert_int_equal(finish(calls[i], &response, &err), ERR_OK);
		assert_string_equal(response->dataset->id, id);
	}
}

static void calls_of_one_key_keep_their_order(void **state)
{
	(void)state;
	static struct client_call *calls[300];
	struct error err;

	for (unsigned i = 0; i < COUNT(calls); i++)
		calls[i] = begin_resize("vol", i, NO_DEADLINE);
	for (unsigned i = 0; i < COUNT(calls); i++)
		assert_int_equal(finish(calls[i], NULL, &err), ERR_OK);
	for (unsigned i = 0; i < COUNT(calls); i++)
		assert_int_equal(service.order[i], i);
}

static void drain_finishes_running_calls(void **state)
{
	(void)state;
	struct error err;
	struct client_call *runs = begin_resize("vol", WAIT, NO_DEADLINE);
	struct client_call *queued = begin_resize("vol", 1, NO_DEADLINE);

	wait_for(&service.begun);
	begin_drain();
	get_until(ERR_UNAVAILABLE);
	if (*ends.folder)
		assert_int_equal(access(strchr(ends.endpoint, '/') + 2, F_OK), -1);
	sem_post(&service.may_end);
	assert_int_equal(finish(runs, NULL, &err), ERR_OK);
	assert_int_equal(finish(queued, NULL, &err), ERR_OK);
}

/* The limit is two connections: the oldest one without a call is closed for a new one, but one with
 * a call is kept. */
static void connections_are_bounded(void **state)
{
	(void)state;
	struct error err;
	struct client *clients[2];

	stop_server();
	ends.limits.connections = COUNT(clients);
	start_server();
	get_until(ERR_OK);
	for (unsigned i = 0; i < COUNT(clients); i++) {
		assert_int_equal(client_new(&clients[i], ends.client_loop.loop, ends.endpoint, NULL,
					    &err),
				 0);
	}
	struct client_call *first = begin_on(clients[0], "first", WAIT, NO_DEADLINE);
	struct client_call *second = begin_on(clients[1], "second", WAIT, NO_DEADLINE);
	wait_for(&service.begun);
	wait_for(&service.begun);
	get_until(ERR_UNAVAILABLE);
	sem_post(&service.may_end);
	sem_post(&service.may_end);
	assert_int_equal(finish(first, NULL, &err), ERR_OK);
	assert_int_equal(finish(second, NULL, &err), ERR_OK);
	get_until(ERR_OK);
	for (unsigned i = 0; i < COUNT(clients); i++)
		looper_do(&ends.client_loop, (void (*)(void *))client_free, clients[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define UNIX(name) cmocka_unit_test_setup_teardown(name, start_unix, stop_ends)
#define TCP(name)  {#name " (tcp)", name, start_tcp, stop_ends, NULL}
		UNIX(answers_come_back),
		TCP(answers_come_back),
		UNIX(errors_come_back_as_they_were),
		UNIX(unknown_methods_are_unimplemented),
		UNIX(bad_text_is_refused),
		UNIX(requests_are_taken_up_to_the_limit),
		TCP(requests_are_taken_up_to_the_limit),
		UNIX(answers_are_sent_up_to_the_limit),
		TCP(answers_are_sent_up_to_the_limit),
		UNIX(deadline_ends_the_call_but_not_the_work),
		UNIX(past_deadline_is_exceeded),
		UNIX(abandoned_work_is_counted),
		UNIX(call_queued_until_its_deadline_is_aborted),
		UNIX(a_thousand_calls_at_once_are_answered),
		TCP(a_thousand_calls_at_once_are_answered),
		UNIX(calls_of_one_key_keep_their_order),
		UNIX(drain_finishes_running_calls),
		TCP(drain_finishes_running_calls),
		UNIX(connections_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
