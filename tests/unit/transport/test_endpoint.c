/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of endpoints: the syntax, and what happens if the path of a unix socket is in use.
 */
#include "tests/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "transport/endpoint.h"

static char folder[] = "/tmp/zcsi-endpoint-XXXXXX";
static char path[64];
static char text[80];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	snprintf(text, sizeof(text), "unix://%s", path);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static int remove_socket(void **state)
{
	(void)state;
	return unlink(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Parse the endpoint, resolve it and listen there. Returns a descriptor, or -1 with *err. */
static int listen_at(const char *endpoint, struct error *err)
{
	struct endpoint parsed;
	struct address address;

	if (endpoint_parse(endpoint, &parsed, err) < 0 ||
	    endpoint_resolve(&parsed, &address, 1, err) < 0)
		return -1;
	return endpoint_listen(&parsed, &address, err);
}

static int connect_to(const char *endpoint, struct error *err)
{
	struct endpoint parsed;
	struct address address;

	assert_int_equal(endpoint_parse(endpoint, &parsed, err), 0);
	assert_int_equal(endpoint_resolve(&parsed, &address, 1, err), 1);
	return address_connect(&address, err);
}

static void valid_endpoints_are_parsed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host, *port, *path, *name;
	} cases[] = {
		{"unix:///run/zcsi/x.sock", "", "", "/run/zcsi/x.sock", ""},
		{"unix:x.sock", "", "", "x.sock", ""},
		{"unix:/x.sock", "", "", "/x.sock", ""},
		{"/x.sock?name=a", "", "", "/x.sock?name=a", ""},
		{"tcp://127.0.0.1:9000", "127.0.0.1", "9000", "", ""},
		{"tcp://storage-1:65535", "storage-1", "65535", "", ""},
		{"tcp://[::1]:9000", "::1", "9000", "", ""},
		{"tcp://[::1]:9000?name=node-1", "::1", "9000", "", "node-1"},
		{"tcp://10.0.0.1:9000?name=a.b:c", "10.0.0.1", "9000", "", "a.b:c"},
		{"tcp://:9000", "", "9000", "", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct endpoint endpoint;
		struct error err;
		assert_int_equal(endpoint_parse(cases[i].text, &endpoint, &err), 0);
		assert_string_equal(endpoint.text, cases[i].text);
		assert_string_equal(endpoint.host, cases[i].host);
		assert_string_equal(endpoint.port, cases[i].port);
		assert_string_equal(endpoint.path, cases[i].path);
		assert_string_equal(endpoint.name, cases[i].name);
		assert_int_equal(endpoint.is_unix, *cases[i].path != '\0');
	}
}

static void invalid_endpoints_are_refused(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"",
		"x.sock",
		"unix://",
		"unix://x.sock",
		"unix://./x.sock",
		"unix:",
		"http://x:1",
		"tcp://",
		"tcp://host",
		"tcp://host:",
		"tcp://host:http",
		"tcp://host:-1",
		"tcp://host:+1",
		"tcp://host: 1",
		"tcp://host:1x",
		"tcp://host:65536",
		"tcp://host:99999999999999999999",
		"tcp://::1:9000",
		"tcp:127.0.0.1:1",
		"tcp://host:1?",
		"tcp://host:1?name=",
		"tcp://host:1?name=.example",
		"tcp://host:1?address=10.0.0.1",
		"tcp://host?name=a",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct endpoint endpoint;
		struct error err = {0};
		if (endpoint_parse(cases[i], &endpoint, &err) == 0)
			print_error("'%s' was accepted\n", cases[i]);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	}
}

static void lengths_are_bounded(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct error err;
	char longest[600];

	for (size_t n = 1; n < sizeof(longest); n++) {
		memset(longest, 'x', n);
		longest[0] = '/';
		longest[n] = '\0';
		assert_int_equal(endpoint_parse(longest, &endpoint, &err),
				 n < sizeof(endpoint.path) ? 0 : -1);
	}
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "tcp://", 6);
	memcpy(longest + 300, ":1", 3);
	assert_int_equal(endpoint_parse(longest, &endpoint, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
}

static void only_loopback_is_local(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool local;
	} cases[] = {{"unix:///x", true},
		     {"tcp://127.0.0.1:1", true},
		     {"tcp://127.9.9.9:1", true},
		     {"tcp://[::1]:1", true},
		     {"tcp://0.0.0.0:1", false},
		     {"tcp://[::]:1", false},
		     {"tcp://10.0.0.1:1", false},
		     {"tcp://:1", false},
		     {"tcp://[::ffff:10.0.0.1]:1", false}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct endpoint endpoint;
		struct address address;
		struct error err;
		assert_int_equal(endpoint_parse(cases[i].text, &endpoint, &err), 0);
		assert_int_equal(endpoint_resolve(&endpoint, &address, 1, &err), 1);
		assert_int_equal(address_is_local(&address), cases[i].local);
	}
}

static void unknown_host_is_unavailable(void **state)
{
	(void)state;
	struct endpoint endpoint;
	struct address address;
	struct error err;

	assert_int_equal(endpoint_parse("tcp://256.256.256.256:1", &endpoint, &err), 0);
	assert_int_equal(endpoint_resolve(&endpoint, &address, 1, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

static void socket_is_for_its_owner_only(void **state)
{
	(void)state;
	struct error err;
	struct stat st;
	mode_t before = umask(0);
	auto_close int fd = listen_at(text, &err);

	umask(before);
	assert_true(fd >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void missing_folder_is_made(void **state)
{
	(void)state;
	struct error err;
	char deep[100];

	snprintf(deep, sizeof(deep), "%s/new/s", folder);
	auto_close int fd = listen_at(deep, &err);
	assert_true(fd >= 0);
	unlink(deep);
	snprintf(deep, sizeof(deep), "%s/new", folder);
	assert_int_equal(rmdir(deep), 0);
}

static void deeply_missing_folder_is_an_error(void **state)
{
	(void)state;
	struct error err;
	char deep[100];

	snprintf(deep, sizeof(deep), "%s/a/b/s", folder);
	assert_int_equal(listen_at(deep, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* A daemon may be killed while it starts a program: the forked child still holds the listening
 * socket. */
static void a_socket_held_by_a_child_is_replaced(void **state)
{
	struct error err;
	int gate[2], status;
	char byte;

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pid_t listener = fork();
	if (listener == 0) {
		int fd = listen_at(text, &err);
		if (fork() == 0) {
			close(gate[1]);
			_exit(read(gate[0], &byte, 1) != 0);
		}
		_exit(fd < 0);
	}
	assert_int_equal(waitpid(listener, &status, 0), listener);
	assert_int_equal(status, 0);
	auto_close int held = connect_to(text, &err);
	assert_true(held >= 0);
	auto_close int second = listen_at(text, &err);
	assert_true(second >= 0);
	close(gate[1]);
	close(gate[0]);
}

static void stale_socket_is_replaced(void **state)
{
	(void)state;
	struct error err;
	int first = listen_at(text, &err);

	assert_true(first >= 0);
	close(first);
	assert_int_equal(access(path, F_OK), 0);
	auto_close int second = listen_at(text, &err);
	assert_true(second >= 0);
	auto_close int client = connect_to(text, &err);
	assert_true(client >= 0);
}

static void live_socket_is_left_alone(void **state)
{
	(void)state;
	struct error err;
	auto_close int first = listen_at(text, &err);

	assert_true(first >= 0);
	assert_int_equal(listen_at(text, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, text));
	auto_close int client = connect_to(text, &err);
	assert_true(client >= 0);
}

/* A socket whose process is stopped accepts no connection, but it is in use. */
static void busy_socket_is_left_alone(void **state)
{
	(void)state;
	struct error err;
	int clients[200], n = 0;
	auto_close int first = listen_at(text, &err);

	assert_true(first >= 0);
	while (n < (int)COUNT(clients) && (clients[n] = connect_to(text, &err)) >= 0)
		n++;
	assert_in_range(n, 1, COUNT(clients) - 1);
	alarm(5);
	assert_int_equal(listen_at(text, &err), -1);
	alarm(0);
	while (n > 0)
		close(clients[--n]);
	assert_int_equal(access(path, F_OK), 0);
}

static void file_in_the_way_is_left_alone(void **state)
{
	(void)state;
	struct error err;
	int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	struct stat st;

	assert_true(file >= 0);
	close(file);
	assert_int_equal(listen_at(text, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void link_in_the_way_is_left_alone(void **state)
{
	(void)state;
	struct error err;
	struct stat st;

	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(listen_at(text, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void tcp_connects(void **state)
{
	(void)state;
	struct error err;
	struct sockaddr_in bound = {0};
	socklen_t size = sizeof(bound);
	char tcp[40];

	auto_close int server = listen_at("tcp://127.0.0.1:0", &err);
	assert_true(server >= 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&bound, &size), 0);
	snprintf(tcp, sizeof(tcp), "tcp://127.0.0.1:%d", ntohs(bound.sin_port));
	auto_close int client = connect_to(tcp, &err);
	assert_true(client >= 0);
	assert_int_equal(poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 5000), 1);
	assert_int_equal(listen_at(tcp, &err), -1);
}

static int option_of(int fd, int level, int name)
{
	socklen_t size = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

/* The kernel reports a vanished peer within a minute, whether or not data is being sent. */
static void vanished_peers_are_found(void **state)
{
	(void)state;
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	socket_prepare(fd);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	int silence = option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE);
	int again = option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL);
	assert_in_range(silence + again * option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 1, 60);
	assert_in_range(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1, 60000);
}

/* Connect to the server from an IPv4 address of this host, and return the origin that it sees. */
static uint64_t origin_from(int server, uint16_t port, const char *from)
{
	struct sockaddr_in source = {.sin_family = AF_INET};
	struct sockaddr_in target = {.sin_family = AF_INET, .sin_port = port};
	auto_close int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, from, &source.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &target.sin_addr), 1);
	assert_int_equal(bind(client, (struct sockaddr *)&source, sizeof(source)), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&target, sizeof(target)), 0);
	struct pollfd arrived = {.fd = server, .events = POLLIN};
	assert_int_equal(poll(&arrived, 1, 5000), 1);
	auto_close int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	return socket_origin(accepted);
}

/* "[::]" also accepts IPv4 connections, as mapped addresses, which have their first 64 bits in
 * common. */
static void origin_is_the_host_of_the_peer(void **state)
{
	static const char *const endpoints[] = {"tcp://127.0.0.1:0", "tcp://[::]:0"};

	(void)state;
	for (size_t i = 0; i < COUNT(endpoints); i++) {
		struct sockaddr_in6 address = {0};
		socklen_t size = sizeof(address);
		struct error err;
		auto_close int server = listen_at(endpoints[i], &err);
		assert_true(server >= 0);
		getsockname(server, (struct sockaddr *)&address, &size);
		uint16_t port = address.sin6_port; /* at the same place as in struct sockaddr_in */
		uint64_t origin = origin_from(server, port, "127.0.0.2");
		assert_true(origin_from(server, port, "127.0.0.2") == origin);
		assert_true(origin_from(server, port, "127.0.0.3") != origin);
	}
}

static void a_missing_socket_is_unavailable(void **state)
{
	(void)state;
	struct error err;

	assert_int_equal(connect_to(text, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_endpoints_are_parsed),
		cmocka_unit_test(invalid_endpoints_are_refused),
		cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(only_loopback_is_local),
		cmocka_unit_test(unknown_host_is_unavailable),
		cmocka_unit_test_teardown(socket_is_for_its_owner_only, remove_socket),
		cmocka_unit_test(missing_folder_is_made),
		cmocka_unit_test(deeply_missing_folder_is_an_error),
		cmocka_unit_test_teardown(stale_socket_is_replaced, remove_socket),
		cmocka_unit_test_teardown(a_socket_held_by_a_child_is_replaced, remove_socket),
		cmocka_unit_test_teardown(live_socket_is_left_alone, remove_socket),
		cmocka_unit_test_teardown(busy_socket_is_left_alone, remove_socket),
		cmocka_unit_test_teardown(file_in_the_way_is_left_alone, remove_socket),
		cmocka_unit_test_teardown(link_in_the_way_is_left_alone, remove_socket),
		cmocka_unit_test(tcp_connects),
		cmocka_unit_test(vanished_peers_are_found),
		cmocka_unit_test(origin_is_the_host_of_the_peer),
		cmocka_unit_test(a_missing_socket_is_unavailable),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
