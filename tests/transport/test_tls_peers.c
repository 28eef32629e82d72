/* SPDX-License-Identifier: MPL-2.0 */
/*
 * TLS with peers that are not ours: OpenSSL used plainly, plain sockets that send what they are
 * told, and a relay between our two ends that passes on a byte at a time or cuts them off.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see there */

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static const struct certificate certificates[] = {
	{.name = "ca", .is_ca = true},
	{.name = "node", .issuer = "ca", .names = "IP:127.0.0.1"},
	{.name = "peer", .issuer = "ca", .names = "DNS:peer.example,IP:127.0.0.1"},
};

#define SHORT_MS 500

static struct end server;

static int start(void **state)
{
	struct error err;

	(void)state;
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to whoever has hung up */
	certificates_make(certificates, COUNT(certificates));
	if (end_trust(&server, "ca", "node", &err) < 0)
		return -1;
	server.limits.handshake_ms = SHORT_MS;
	server_start(&server);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	server_stop(&server);
	certificates_remove();
	return 0;
}

/* Sockets */

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int connect_to(int port)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int listen_at(int *ret_port)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_port = free_port();
	address = loopback(*ret_port);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* Read to the end; how many bytes came, the first of them in bytes. */
static size_t read_all(int fd, uint8_t *bytes, size_t size)
{
	size_t total = 0;
	ssize_t n;

	do {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
		n = recv(fd, bytes + total, size - total, 0);
		total += n > 0 ? (size_t)n : 0;
	} while (n > 0 && total < size);
	return total;
}

/* OpenSSL, as anybody uses it */

struct habits {
	const char *certificate; /* NULL: none */
	int max_version;         /* 0: any */
	const char *alpn;        /* its list form; NULL: none */
};

#define H2    "\2h2"
#define HTTP1 "\10http/1.1"
#define GOOD_PEER                                                                                  \
	{                                                                                          \
		.certificate = "peer", .alpn = H2                                                  \
	}

static int choose_h2(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
		     const unsigned char *offered, unsigned n, void *arg)
{
	(void)ssl, (void)offered, (void)n, (void)arg;
	*ret = (const unsigned char *)"h2";
	*ret_size = 2;
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *context_of(const struct habits *habits)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	char path[64];

	if (habits->certificate) {
		path_of(path, habits->certificate, "pem");
		assert_int_equal(SSL_CTX_use_certificate_file(context, path, SSL_FILETYPE_PEM), 1);
		path_of(path, habits->certificate, "key");
		assert_int_equal(SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM), 1);
	}
	SSL_CTX_set_max_proto_version(context, habits->max_version);
	if (habits->alpn) {
		SSL_CTX_set_alpn_protos(context, (const unsigned char *)habits->alpn,
					(unsigned)strlen(habits->alpn));
		SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
	}
	return context;
}

static SSL *ssl_on(int fd, const struct habits *habits)
{
	SSL_CTX *context = context_of(habits);
	SSL *ssl = SSL_new(context);

	SSL_CTX_free(context);
	SSL_set_fd(ssl, fd);
	ERR_clear_error();
	return ssl;
}

static void ssl_close(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_free(ssl);
	close(fd);
}

/* Clients of our server */

static const struct {
	const char *title;
	struct habits habits;
	int alert; /* that it gets; 0: it is served */
} clients[] = {
	{"a good one", GOOD_PEER, 0},
	{"one with a choice", {.certificate = "peer", .alpn = HTTP1 H2}, 0},
	{"TLS 1.2", {"peer", TLS1_2_VERSION, H2}, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION},
	{"no certificate", {.alpn = H2}, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED},
	{"no ALPN", {.certificate = "peer"}, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL},
	{"HTTP/1.1",
	 {.certificate = "peer", .alpn = HTTP1},
	 SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL},
};

static void clients_get_what_they_deserve(void **state)
{
	(void)state;
	char bytes[64];

	for (size_t i = 0; i < COUNT(clients); i++) {
		SSL *ssl = ssl_on(connect_to(server.port), &clients[i].habits);
		int n = SSL_connect(ssl) == 1 ? SSL_read(ssl, bytes, sizeof(bytes)) : -1;
		int alert = n > 0 ? 0 : ERR_GET_REASON(ERR_peek_error());
		if (alert != clients[i].alert)
			print_error("%s: %d\n", clients[i].title, alert);
		assert_int_equal(alert, clients[i].alert);
		ssl_close(ssl);
	}
}

#define TEXT(text)  text, sizeof(text) - 1
#define HTTP2_START "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0"

static const struct {
	const char *title, *bytes;
	size_t size;
	bool told; /* by an alert, unexpected_message */
	bool slow; /* it might still become something */
} noises[] = {
	{"silence", TEXT(""), .slow = true},
	{"half a record", TEXT("\x16\3\1\2\0\1"), .slow = true},
	{"HTTP/2", TEXT(HTTP2_START), .told = true},
	{"HTTP/1", TEXT("GET / HTTP/1.1\r\n\r\n"), .told = true},
	{"zeroes", TEXT("\0\0\0\0\0\0\0\0"), .told = true},
	{"a record of nothing", TEXT("\x16\3\1\0\0"), .told = false},
	{"a record too long", TEXT("\x16\3\1\xff\xff\1\0\0\0"), .told = false},
	{"data before the handshake", TEXT("\x17\3\3\0\1x"), .told = true},
	{"a hello that is none", TEXT("\x16\3\1\0\5\1\0\0\1\0"), .told = false},
	{"an alert", TEXT("\x15\3\1\0\2\2\x28"), .told = false},
};

static void noise_is_hung_up_on(void **state)
{
	(void)state;
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 10};
	uint8_t bytes[1024];

	for (size_t i = 0; i < COUNT(noises); i++) {
		int64_t began = now_ms();
		auto_close int fd = connect_to(server.port);
		send(fd, noises[i].bytes, noises[i].size, MSG_NOSIGNAL);
		size_t n = read_all(fd, bytes, sizeof(bytes));
		bool told = n == sizeof(alert) && memcmp(bytes, alert, n) == 0;
		if (told != noises[i].told)
			print_error("%s\n", noises[i].title);
		assert_int_equal(told, noises[i].told);
		assert_true(!noises[i].slow || now_ms() - began >= SHORT_MS / 2);
	}
}

static void be_patient(void *arg)
{
	const int64_t *ms = arg;

	server.limits.handshake_ms = *ms;
}

/* A hello of 130 kB, as it says, which OpenSSL would take: it is not waited for. */
static void handshakes_are_bounded(void **state)
{
	(void)state;
	static const uint8_t record[5 + (1 << 14)] = {22, 3, 1, 1 << 6, 0, 1, 1, 0xfb, 0xd0};
	int64_t ms = PATIENCE * 1000, began = now_ms();
	uint8_t bytes[64];

	looper_do(&server.looper, be_patient, &ms);
	auto_close int fd = connect_to(server.port);
	for (int i = 0; i < 4; i++)
		send(fd, record, sizeof(record), MSG_NOSIGNAL);
	read_all(fd, bytes, sizeof(bytes));
	assert_true(now_ms() - began < ms / 2);
	ms = SHORT_MS;
	looper_do(&server.looper, be_patient, &ms);
}

/* What is lost can be told from what was never sent: the end is announced. */
static void our_server_says_goodbye(void **state)
{
	struct habits habits = GOOD_PEER;
	SSL *ssl = ssl_on(connect_to(server.port), &habits);
	char bytes[64];
	int n;

	assert_int_equal(SSL_connect(ssl), 1);
	server_stop(&server);
	while ((n = SSL_read(ssl, bytes, sizeof(bytes))) > 0)
		;
	assert_int_equal(SSL_get_error(ssl, n), SSL_ERROR_ZERO_RETURN);
	ssl_close(ssl);
	certificates_remove();
	assert_int_equal(start(state), 0);
}

/* Each wants one of ours, and costs both sides new keys. */
static void key_updates_are_bounded(void **state)
{
	(void)state;
	struct habits habits = GOOD_PEER;
	SSL *ssl = ssl_on(connect_to(server.port), &habits);
	char bytes[1024];
	struct error err;
	unsigned sent = 0;

	assert_int_equal(SSL_connect(ssl), 1);
	assert_true(SSL_write(ssl, TEXT(HTTP2_START)) > 0);
	for (; SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) && SSL_do_handshake(ssl) == 1;
	     sent++) {
		assert_true(sent < 100000);
		while (recv(SSL_get_fd(ssl), bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
	assert_true(sent > 32);
	assert_int_equal(ask_as("ca", "peer", server.port, &err), ERR_OK);
	ssl_close(ssl);
}

/* Servers of our client */

struct foreign {
	const char *title;
	const char *words; /* what our client says of it */
	struct habits habits;
	enum { HANDSHAKE, SILENT, LEAVE, PLAIN } then;
	bool announced; /* it leaves with a close_notify */
	int listener;
};

static void *serve(void *arg)
{
	const struct foreign *foreign = arg;
	char bytes[1024];
	int fd;

	while ((fd = accept(foreign->listener, NULL, NULL)) >= 0) {
		if (foreign->then == HANDSHAKE) {
			SSL *ssl = ssl_on(fd, &foreign->habits);
			if (SSL_accept(ssl) == 1 && SSL_read(ssl, bytes, sizeof(bytes)) > 0 &&
			    foreign->announced)
				SSL_shutdown(ssl);
			SSL_free(ssl);
		}
		if (foreign->then == PLAIN)
			send(fd, TEXT("\0\0\0\4\0\0\0\0\0"), MSG_NOSIGNAL);
		if (foreign->then == LEAVE)
			recv(fd, bytes, sizeof(bytes), 0);
		while (foreign->then == SILENT && recv(fd, bytes, sizeof(bytes), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static struct foreign servers[] = {
	{"no ALPN", "TLS failed: it does not speak HTTP/2", .habits = {.certificate = "node"}},
	{"TLS 1.2", "it does not speak TLS 1.3", .habits = {"node", TLS1_2_VERSION, H2}},
	{"silent", "the TLS handshake was not over in time", .then = SILENT},
	{"leaves at once", "closed during the TLS handshake", .then = LEAVE},
	{"plain", "it does not speak TLS", .then = PLAIN},
	{"leaves without a word", "closed without a TLS close_notify",
	 .habits = {.certificate = "node", .alpn = H2}},
	{"leaves with one", "closed by the peer", .habits = {.certificate = "node", .alpn = H2},
	 .announced = true},
};

static void our_client_says_what_is_wrong(void **state)
{
	(void)state;
	struct end client;
	struct error err;
	pthread_t thread;
	int port;

	for (size_t i = 0; i < COUNT(servers); i++) {
		servers[i].listener = listen_at(&port);
		pthread_create(&thread, NULL, serve, &servers[i]);
		assert_int_equal(end_trust(&client, "ca", "peer", &err), 0);
		client.limits.handshake_ms = client.limits.connect_ms = SHORT_MS / 2;
		client_start(&client, NULL, port);
		assert_int_equal(ask(&client, &err), ERR_UNAVAILABLE);
		client_stop(&client);
		if (!strstr(err.text, servers[i].words))
			print_error("%s: %s\n", servers[i].title, err.text);
		assert_non_null(strstr(err.text, servers[i].words));
		shutdown(servers[i].listener, SHUT_RDWR);
		pthread_join(thread, NULL);
		close(servers[i].listener);
	}
}

/* Between our two ends */

static struct {
	int listener, port;
	size_t at_once; /* bytes in one write */
	size_t most;    /* bytes to the client, then it is cut off; 0: any */
	pthread_t thread;
} relay;

/* One piece from here to there; false at the end. */
static bool pass_on(int from, int to, size_t *total)
{
	uint8_t bytes[4096];
	ssize_t n = recv(from, bytes, relay.at_once, 0);

	*total += n > 0 ? (size_t)n : 0;
	return n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void relay_one(int client)
{
	const int on = 1;
	auto_close int other = connect_to(server.port);
	struct pollfd ends[] = {{.fd = client, .events = POLLIN}, {.fd = other, .events = POLLIN}};
	size_t totals[] = {0, 0};
	bool goes_on = true;

	setsockopt(client, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
	setsockopt(other, IPPROTO_TCP, 1, &on, sizeof(on));
	while (goes_on && poll(ends, COUNT(ends), PATIENCE * 1000) > 0) {
		for (int i = 0; i < 2; i++) {
			if (goes_on && ends[i].revents)
				goes_on = pass_on(ends[i].fd, ends[!i].fd, &totals[i]);
		}
		goes_on &= relay.most == 0 || totals[1] < relay.most;
	}
	/* an end, not a reset, which closing with something unread would be */
	shutdown(client, SHUT_WR);
	while (pass_on(client, other, totals))
		;
}

static void *run_relay(void *arg)
{
	int client;

	(void)arg;
	while ((client = accept(relay.listener, NULL, NULL)) >= 0) {
		relay_one(client);
		close(client);
	}
	return NULL;
}

static void start_relay(size_t at_once, size_t most)
{
	relay.listener = listen_at(&relay.port);
	relay.at_once = at_once;
	relay.most = most;
	pthread_create(&relay.thread, NULL, run_relay, NULL);
}

static void stop_relay(void)
{
	shutdown(relay.listener, SHUT_RDWR);
	pthread_join(relay.thread, NULL);
	close(relay.listener);
}

static void records_may_come_byte_by_byte(void **state)
{
	(void)state;
	struct end client;
	struct error err;

	start_relay(1, 0);
	assert_int_equal(end_trust(&client, "ca", "peer", &err), 0);
	client_start(&client, NULL, relay.port);
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(&client, &err), ERR_OK);
	client_stop(&client);
	stop_relay();
}

/* Wherever it is cut off, it is told from an end; later than the handshake, as truncation. */
static void cut_connections_are_told_from_ended_ones(void **state)
{
	(void)state;
	struct error err;
	bool early = false, late = false;

	for (size_t most = 1; most < 1200; most += 97) {
		start_relay(7, most);
		assert_int_equal(ask_as("ca", "peer", relay.port, &err), ERR_UNAVAILABLE);
		bool is_early = strstr(err.text, "closed during the TLS handshake") != NULL;
		bool is_late = strstr(err.text, "closed without a TLS close_notify") != NULL;
		assert_true(is_early || is_late);
		early |= is_early;
		late |= is_late;
		stop_relay();
	}
	assert_true(early && late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_get_what_they_deserve),
		cmocka_unit_test(noise_is_hung_up_on),
		cmocka_unit_test(handshakes_are_bounded),
		cmocka_unit_test(our_server_says_goodbye),
		cmocka_unit_test(key_updates_are_bounded),
		cmocka_unit_test(our_client_says_what_is_wrong),
		cmocka_unit_test(records_may_come_byte_by_byte),
		cmocka_unit_test(cut_connections_are_told_from_ended_ones),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
