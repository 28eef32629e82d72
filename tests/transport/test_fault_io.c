/* SPDX-License-Identifier: MPL-2.0 */
/*
 * System calls at their worst: bytes that are sent and received one by one, sockets that accept no
 * data every other time, and no free descriptor at each point that needs one.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/exec.h"
#include "common/log.h"
#include "tests/transport/all_kinds.h"

/* Wrapped system calls, and how they behave. */

static struct {
	atomic_size_t most; /* maximum of bytes per call */
	atomic_bool blocks; /* every other call fails with EAGAIN */
	atomic_uint n_sent;
	atomic_int n_refusals; /* number of calls of accept4 that still fail with EMFILE */
} kernel;

ssize_t __real_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
	return __real_recv(fd, bytes, n < kernel.most ? n : kernel.most, flags);
}

ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
	if (kernel.blocks && atomic_fetch_add(&kernel.n_sent, 1) % 2 == 0) {
		errno = EAGAIN;
		return -1;
	}
	return __real_send(fd, bytes, n < kernel.most ? n : kernel.most, flags);
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	if (kernel.n_refusals > 0) {
		atomic_fetch_sub(&kernel.n_refusals, 1);
		errno = EMFILE;
		return -1;
	}
	return __real_accept4(fd, address, size, flags);
}

static int setup(void **state)
{
	struct error err;

	(void)state;
	kernel.most = SIZE_MAX;
	kernel.blocks = false;
	kernel.n_refusals = 0;
	return log_setup("error", "logfmt", &err);
}

/* Server and client, plain or with TLS. */

static struct end server, client;

static void start_ends(const char *name)
{
	struct error err;

	assert_int_equal(end_trust(&server, "ca", name, &err), 0);
	server_start(&server);
	assert_int_equal(end_trust(&client, "ca", name, &err), 0);
	client.limits.wait_ms = PATIENCE * 1000;
	client_start(&client, NULL, server.port);
}

static void stop_ends(void)
{
	client_stop(&client);
	server_stop(&server);
}

static struct client_call *begin_failing(const char *text)
{
	CreateDatasetRequest *request = new_create_dataset_request(&client.arena);

	request->size = ERR_ABORTED;
	request->parameters = (char *)(uintptr_t)text;
	return begin(&client, "CreateDataset", &request->base);
}

static void call_each_kind(void)
{
	static const char text[] = "gr\xc3\xb6\xc3\x9f"
				   "er als 100%";
	struct client_call *failing = begin_failing(text);
	enum error_code codes[ALL_KINDS];
	struct all_kinds all;
	struct error err;

	all_kinds_begin(&all, client.client, &client.looper, now_ms() + PATIENCE * 1000);
	all_kinds_end(&all, codes);
	for (size_t i = 0; i < COUNT(codes); i++)
		assert_int_equal(codes[i], ERR_OK);
	assert_int_equal(finish(failing, &err), ERR_ABORTED);
	assert_string_equal(err.text, text);
}

static void with_and_without_tls(void)
{
	static const struct certificate certificates[] = {
		{.name = "ca", .is_ca = true},
		{.name = "a", .names = "IP:127.0.0.1", .issuer = "ca"}};

	start_ends(NULL);
	call_each_kind();
	stop_ends();
	certificates_make(certificates, COUNT(certificates));
	start_ends("a");
	call_each_kind();
	stop_ends();
	certificates_remove();
}

static void calls_succeed_byte_by_byte(void **state)
{
	(void)state;
	kernel.most = 1;
	with_and_without_tls();
}

static void calls_succeed_on_blocking_sockets(void **state)
{
	(void)state;
	kernel.most = 3;
	kernel.blocks = true;
	with_and_without_tls();
}

/* Without a free descriptor for accept4(), the server tries again at intervals, not all the
 * time. */
static void accept_is_retried_without_descriptors(void **state)
{
	(void)state;
	int64_t began = now_ms();

	kernel.n_refusals = 3;
	start_ends(NULL);
	call_each_kind();
	assert_int_equal(kernel.n_refusals, 0);
	assert_true(now_ms() - began >= 3 * limits_default.accept_ms / 2);
	stop_ends();
}

/* Tests without a free descriptor. */

static unsigned descriptors(void)
{
	DIR *entries = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(entries);
	while (readdir(entries))
		n++;
	closedir(entries);
	return n - 3; /* ., .. and the descriptor of the folder itself */
}

static void limit_descriptors(rlim_t n)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Do everything that opens a descriptor while a daemon runs. *err is the first failure. */
static void live(struct end *one, const char *endpoint, struct error *err)
{
	static const struct server_offer offer = {.services = services};
	static const char *const argv[] = {"true", NULL};
	struct client_options options = {.limits = &client.limits};
	struct exec_result result;

	if (exec_run(&(struct exec){.argv = argv}, &result, err) < 0)
		return;
	exec_result_fini(&result);
	if (server_listen(one->server, endpoint, &offer, err) < 0 ||
	    client_new(&one->client, one->looper.loop, endpoint, &options, err) < 0)
		return;
	looper_start(&one->looper);
	finish(client_begin(one->client, &client.arena, &zcsi__v1__agent__descriptor, "GetHost",
			    &new_get_host_request(&client.arena)->base, now_ms() + PATIENCE * 1000),
	       err);
	looper_do(&one->looper, looper_stop, one->looper.loop);
	pthread_join(one->looper.thread, NULL);
}

/* Run live() with n free descriptors, and check that all are closed afterwards. */
static void live_with(unsigned n, const char *endpoint, struct error *err)
{
	const unsigned held = descriptors();
	struct rlimit before;
	struct end one = {0};

	getrlimit(RLIMIT_NOFILE, &before);
	*err = (struct error){0};
	assert_int_equal(loop_new(&one.looper.loop, err), 0);
	assert_int_equal(workers_new(&one.workers, one.looper.loop, 1, err), 0);
	one.server = server_new(one.looper.loop, one.workers, NULL);
	limit_descriptors(descriptors() + n);
	live(&one, endpoint, err);
	limit_descriptors(before.rlim_cur);
	client_free(one.client);
	server_free(one.server);
	workers_free(one.workers);
	loop_free(one.looper.loop);
	assert_int_equal(descriptors(), held);
	assert_true(err->code == ERR_OK || *err->text);
}

/* Start without a free descriptor, and add one until live() succeeds. */
static void a_call_fails_cleanly_without_descriptors(void **state)
{
	char place[] = "/tmp/zcsi-few-XXXXXX", endpoint[64];
	struct error err = {.code = ERR_UNKNOWN};

	(void)state;
	assert_non_null(mkdtemp(place));
	snprintf(endpoint, sizeof(endpoint), "unix://%s/s", place);
	assert_int_equal(end_trust(&client, "ca", NULL, &err), 0);
	client.limits.wait_ms = 50;
	arena_init(&client.arena, SIZE_MAX);
	for (unsigned n = 0; n == 0 || err.code != ERR_OK; n++) {
		live_with(n, endpoint, &err);
		assert_true(n < 50);
	}
	arena_fini(&client.arena);
	assert_int_equal(rmdir(place), 0);
}

/* The descriptor of the loop is the first one that a daemon opens. */
static void a_loop_fails_cleanly_without_descriptors(void **state)
{
	struct rlimit before;
	struct loop *loop;
	struct error err;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	limit_descriptors(descriptors());
	assert_int_equal(loop_new(&loop, &err), -1);
	limit_descriptors(before.rlim_cur);
	assert_non_null(strstr(err.text, "Too many open files"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(calls_succeed_byte_by_byte, setup),
		cmocka_unit_test_setup(calls_succeed_on_blocking_sockets, setup),
		cmocka_unit_test_setup(accept_is_retried_without_descriptors, setup),
		cmocka_unit_test_setup(a_call_fails_cleanly_without_descriptors, setup),
		cmocka_unit_test_setup(a_loop_fails_cleanly_without_descriptors, setup),
	};

	/* close all other descriptors, so that their number is also the number of the next one */
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
