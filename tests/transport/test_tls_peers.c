/* SPDX-License-Identifier: MPL-2.0 */
/*
 * TLS with peers that do not use the project's transport: OpenSSL with its plain functions, sockets
 * that send fixed bytes, and a relay between server and client that forwards byte by byte or closes
 * the connection.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

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
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to closed connections */
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

/* Functions for plain sockets. */

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

/* Read until the peer closes, or until `size` bytes were read into bytes. Returns their number. */
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

/* Peers that use OpenSSL's functions directly. */

struct profile {
	const char *certificate; /* name of the certificate; NULL: none */
	int max_version;         /* highest version of TLS; 0: any */
	const char *alpn;        /* list of protocols in the wire format of ALPN; NULL: none */
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

static SSL_CTX *context_of(const struct profile *profile)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	char path[64];

	if (profile->certificate) {
		path_of(path, profile->certificate, "pem");
		assert_int_equal(SSL_CTX_use_certificate_file(context, path, SSL_FILETYPE_PEM), 1);
		path_of(path, profile->certificate, "key");
		assert_int_equal(SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM), 1);
	}
	SSL_CTX_set_max_proto_version(context, profile->max_version);
	if (profile->alpn) {
		SSL_CTX_set_alpn_protos(context, (const unsigned char *)profile->alpn,
					(unsigned)strlen(profile->alpn));
		SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
	}
	return context;
}

static SSL *ssl_on(int fd, const struct profile *profile)
{
	SSL_CTX *context = context_of(profile);
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

/* Clients of the server under test, and the outcome of each. */

static const struct {
	const char *title;
	struct profile profile;
	int alert; /* the alert that the client gets; 0: it is served */
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

static void bad_clients_get_their_alert(void **state)
{
	(void)state;
	char bytes[64];

	for (size_t i = 0; i < COUNT(clients); i++) {
		SSL *ssl = ssl_on(connect_to(server.port), &clients[i].profile);
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
	bool alerted; /* the server sends the alert unexpected_message */
	bool slow;    /* the server waits for more until its timeout */
} garbage[] = {
	{"silence", TEXT(""), .slow = true},
	{"half a record", TEXT("\x16\3\1\2\0\1"), .slow = true},
	{"HTTP/2", TEXT(HTTP2_START), .alerted = true},
	{"HTTP/1", TEXT("GET / HTTP/1.1\r\n\r\n"), .alerted = true},
	{"zeroes", TEXT("\0\0\0\0\0\0\0\0"), .alerted = true},
	{"a record of nothing", TEXT("\x16\3\1\0\0"), .alerted = false},
	{"a record too long", TEXT("\x16\3\1\xff\xff\1\0\0\0"), .alerted = false},
	{"data before the handshake", TEXT("\x17\3\3\0\1x"), .alerted = true},
	{"a hello that is none", TEXT("\x16\3\1\0\5\1\0\0\1\0"), .alerted = false},
	{"an alert", TEXT("\x15\3\1\0\2\2\x28"), .alerted = false},
};

static void garbage_is_refused(void **state)
{
	(void)state;
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 10};
	uint8_t bytes[1024];

	for (size_t i = 0; i < COUNT(garbage); i++) {
		int64_t began = now_ms();
		auto_close int fd = connect_to(server.port);
		send(fd, garbage[i].bytes, garbage[i].size, MSG_NOSIGNAL);
		size_t n = read_all(fd, bytes, sizeof(bytes));
		bool alerted = n == sizeof(alert) && memcmp(bytes, alert, n) == 0;
		if (alerted != garbage[i].alerted)
			print_error("%s\n", garbage[i].title);
		assert_int_equal(alerted, garbage[i].alerted);
		assert_true(!garbage[i].slow || now_ms() - began >= SHORT_MS / 2);
	}
}

static void set_handshake_ms(void *arg)
{
	const int64_t *ms = arg;

	server.limits.handshake_ms = *ms;
}

/* The header announces a ClientHello of 130 kB. OpenSSL would accept it; the server must not wait
 * for it. */
static void handshakes_are_bounded(void **state)
{
	(void)state;
	static const uint8_t record[5 + (1 << 14)] = {22, 3, 1, 1 << 6, 0, 1, 1, 0xfb, 0xd0};
	int64_t ms = PATIENCE * 1000, began = now_ms();
	uint8_t bytes[64];

	looper_do(&server.looper, set_handshake_ms, &ms);
	auto_close int fd = connect_to(server.port);
	for (int i = 0; i < 4; i++)
		send(fd, record, sizeof(record), MSG_NOSIGNAL);
	read_all(fd, bytes, sizeof(bytes));
	assert_true(now_ms() - began < ms / 2);
	ms = SHORT_MS;
	looper_do(&server.looper, set_handshake_ms, &ms);
}

/* The server sends close_notify, so that the client can distinguish an end from a truncation. */
static void server_announces_the_end(void **state)
{
	struct profile profile = GOOD_PEER;
	SSL *ssl = ssl_on(connect_to(server.port), &profile);
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

/* Each TLS key update requests an update in return, and makes both sides derive new keys. */
static void key_updates_are_bounded(void **state)
{
	(void)state;
	struct profile profile = GOOD_PEER;
	SSL *ssl = ssl_on(connect_to(server.port), &profile);
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

/* Servers for the client under test, and the outcome of each. */

struct foreign {
	const char *title;
	const char *words; /* expected in the client's error */
	struct profile profile;
	enum { HANDSHAKE, SILENT, LEAVE, PLAIN } then;
	bool announced; /* the server sends close_notify */
	int listener;
};

static void *serve(void *arg)
{
	const struct foreign *foreign = arg;
	char bytes[8192]; /* a whole ClientHello; a close with unread data would reset */
	int fd;

	while ((fd = accept(foreign->listener, NULL, NULL)) >= 0) {
		if (foreign->then == HANDSHAKE) {
			SSL *ssl = ssl_on(fd, &foreign->profile);
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
	{"no ALPN", "TLS failed: it does not speak HTTP/2", .profile = {.certificate = "node"}},
	{"TLS 1.2", "it does not speak TLS 1.3", .profile = {"node", TLS1_2_VERSION, H2}},
	{"silent", "the TLS handshake was not over in time", .then = SILENT},
	{"leaves at once", "closed during the TLS handshake", .then = LEAVE},
	{"plain", "it does not speak TLS", .then = PLAIN},
	{"leaves without a word", "closed without a TLS close_notify",
	 .profile = {.certificate = "node", .alpn = H2}},
	{"leaves with one", "closed by the peer", .profile = {.certificate = "node", .alpn = H2},
	 .announced = true},
};

static void client_names_the_fault_of_a_server(void **state)
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

/* A relay between server and client. */

static struct {
	int listener, port;
	size_t at_once; /* bytes in one write */
	size_t most;    /* bytes to the client until the connection is closed; 0: unlimited */
	pthread_t thread;
} relay;

/* Forward one piece. Returns false at the end of the connection. */
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

	setsockopt(client, IPPROTO_TCP, 1 /* 1 is TCP_NODELAY */, &on, sizeof(on));
	setsockopt(other, IPPROTO_TCP, 1, &on, sizeof(on));
	while (goes_on && poll(ends, COUNT(ends), PATIENCE * 1000) > 0) {
		for (int i = 0; i < 2; i++)
			if (goes_on && ends[i].revents)
				goes_on = pass_on(ends[i].fd, ends[!i].fd, &totals[i]);
		goes_on &= relay.most == 0 || totals[1] < relay.most;
	}
	/* end the connection by FIN; a close with unread data would reset it */
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

/* A connection that is cut at any point ends with an error: during the handshake because it was
 * closed, later because close_notify is missing. How long a handshake is depends on the version of
 * OpenSSL. */
static void truncation_is_distinguished_from_an_end(void **state)
{
	(void)state;
	struct error err;
	bool early = false, late = false;

	for (size_t most = 1; !late; most += 97) {
		assert_true(most < 8192);
		start_relay(7, most);
		assert_int_equal(ask_as("ca", "peer", relay.port, &err), ERR_UNAVAILABLE);
		bool is_early = strstr(err.text, "closed during the TLS handshake") != NULL;
		bool is_late = strstr(err.text, "closed without a TLS close_notify") != NULL;
		assert_true(is_early || is_late);
		early |= is_early;
		late |= is_late;
		stop_relay();
	}
	assert_true(early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_clients_get_their_alert),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(handshakes_are_bounded),
		cmocka_unit_test(server_announces_the_end),
		cmocka_unit_test(key_updates_are_bounded),
		cmocka_unit_test(client_names_the_fault_of_a_server),
		cmocka_unit_test(records_may_come_byte_by_byte),
		cmocka_unit_test(truncation_is_distinguished_from_an_end),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
