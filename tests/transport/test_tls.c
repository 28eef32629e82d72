/* SPDX-License-Identifier: MPL-2.0 */
/*
 * TLS between the project's server and client: which peers are accepted and the errors of the
 * others, invalid files, files that are replaced, and large messages. Peers that use OpenSSL
 * directly are in test_tls_peers.c.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CERTIFICATE(file, by, san, ...)                                                            \
	{                                                                                          \
		.name = file, .issuer = by, .names = san, __VA_ARGS__                              \
	}

static const struct certificate certificates[] = {
	CERTIFICATE("ca", NULL, NULL, .is_ca = true),
	CERTIFICATE("other-ca", NULL, NULL, .is_ca = true),
	CERTIFICATE("middle", "ca", NULL, .is_ca = true),
	CERTIFICATE("node", "ca", "DNS:node.example,DNS:localhost,IP:127.0.0.1"),
	CERTIFICATE("controller", "ca", "DNS:controller.example,URI:spiffe://zcsi/a=b,IP:::1"),
	/* the common name does not count as a host name of the certificate */
	CERTIFICATE("localhost", "ca", NULL),
	CERTIFICATE("elsewhere", "ca", "DNS:elsewhere.example,IP:127.0.0.2"),
	CERTIFICATE("wildcard", "ca", "DNS:*.example"),
	CERTIFICATE("expired", "ca", "IP:127.0.0.1", .from = -3 * DAY, .to = -DAY),
	CERTIFICATE("future", "ca", "IP:127.0.0.1", .from = DAY, .to = 3 * DAY),
	CERTIFICATE("foreign", "other-ca", "IP:127.0.0.1"),
	CERTIFICATE("self-signed", NULL, "IP:127.0.0.1"),
	CERTIFICATE("only-server", "ca", "IP:127.0.0.1", .usage = "serverAuth"),
	CERTIFICATE("only-client", "ca", "IP:127.0.0.1", .usage = "clientAuth"),
	CERTIFICATE("below", "middle", "IP:127.0.0.1"),
	CERTIFICATE("live", "ca", "IP:127.0.0.1"),
	CERTIFICATE("second", "other-ca", "IP:127.0.0.1"),
	CERTIFICATE("third", "ca", "IP:127.0.0.1"),
};

static int make_certificates(void **state)
{
	(void)state;
	certificates_make(certificates, COUNT(certificates));
	return 0;
}

static int remove_certificates(void **state)
{
	(void)state;
	certificates_remove();
	return 0;
}

/* Tests of accepted and refused peers. */

#define WORDS_MAX 3

struct scene {
	const char *title;
	const char *server, *client; /* certificates; NULL: plain text */
	enum error_code code;
	const char *words[WORDS_MAX]; /* parts of the error text */
	const char *server_ca, *client_ca, *host, *peer_name;
	const char *allow[2];
};

static const struct scene scenes[] = {
	{"a good pair", "node", "controller", ERR_OK, .allow = {NULL}},
	{"a host by its name", "node", "controller", ERR_OK, .host = "localhost"},
	{"an expired server", "expired", "controller", ERR_UNAVAILABLE,
	 .words = {"cannot reach 'tcp://127.0.0.1:", "its certificate '/CN=expired' expired on 2"}},
	{"a server from tomorrow", "future", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate '/CN=future' is not valid before 2"}},
	{"a server of another CA", "foreign", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate '/CN=foreign' is of '/CN=other-ca', which is not a CA of "
		   "--tls-ca"}},
	{"a self-signed server", "self-signed", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate '/CN=self-signed' is of '/CN=self-signed', which is not a CA"}},
	{"a server of another name", "elsewhere", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate is for 'elsewhere.example', '127.0.0.2', not for '127.0.0.1'"}},
	{"a server at another name", "elsewhere", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate is for 'elsewhere.example', '127.0.0.2', not for 'localhost'"},
	 .host = "localhost"},
	{"a server with a common name only", "localhost", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate is for no name, not for 'localhost'"}, .host = "localhost"},
	{"a server with another name as well", "node", "controller", ERR_OK,
	 .peer_name = "Node.EXAMPLE"},
	{"a server without that other name", "node", "controller", ERR_UNAVAILABLE,
	 .words = {"cannot reach 'tcp://127.0.0.1:",
		   "its certificate is for 'node.example', 'localhost', '127.0.0.1', not for "
		   "'node-2'"},
	 .peer_name = "node-2"},
	{"a server with that other name but for another host", "elsewhere", "controller",
	 ERR_UNAVAILABLE, .words = {"not for '127.0.0.1'"}, .peer_name = "elsewhere.example"},
	{"a server with a client's certificate", "only-client", "controller", ERR_UNAVAILABLE,
	 .words = {"its certificate '/CN=only-client': unsuitable certificate purpose"}},
	{"an expired client", "node", "expired", ERR_UNAVAILABLE,
	 .words = {"cannot reach 'tcp://127.0.0.1:", "it refuses our certificate '",
		   "/expired.pem': it has expired"}},
	{"a client from tomorrow", "node", "future", ERR_UNAVAILABLE,
	 .words = {"/future.pem': it is not valid yet"}},
	{"a client of another CA", "node", "foreign", ERR_UNAVAILABLE,
	 .words = {"/foreign.pem': its CA is unknown there"}},
	{"a client with a server's certificate", "node", "only-server", ERR_UNAVAILABLE,
	 .words = {"/only-server.pem': it is for another purpose"}},
	{"a CA in between, trusted itself", "below", "below", ERR_OK, .server_ca = "middle",
	 .client_ca = "middle"},
	{"plain text to TLS", "node", NULL, ERR_UNAVAILABLE,
	 .words = {"it speaks TLS: give --tls-ca, --tls-cert and --tls-key"}},
	{"TLS to plain text", NULL, "controller", ERR_UNAVAILABLE,
	 .words = {"it does not speak TLS"}},
	{"a client that is allowed", "node", "controller", ERR_OK, .allow = {"controller.example"}},
	{"... in other letters", "node", "controller", ERR_OK, .allow = {"Controller.EXAMPLE"}},
	{"... by its URI", "node", "controller", ERR_OK, .allow = {"spiffe://zcsi/a=b"}},
	{"... by its address", "node", "controller", ERR_OK, .allow = {"::1"}},
	{"... to call this service", "node", "controller", ERR_OK,
	 .allow = {"csi.v1.Node=x", "zcsi.v1.Agent=controller.example"}},
	{"... to call this method", "node", "controller", ERR_OK,
	 .allow = {"zcsi.v1.Agent/GetHost=x", "zcsi.v1.Agent/GetDataset=controller.example"}},
	{"a client that is not allowed", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"the caller's certificate is for 'controller.example', 'spiffe://zcsi/a=b', "
		   "'::1', and "
		   "no --allow lets that call zcsi.v1.Agent/GetDataset"},
	 .allow = {"other.example"}},
	{"... to call this service", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent"}, .allow = {"csi.v1.Node=controller.example"}},
	{"... because of the service's beginning", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent"}, .allow = {"zcsi.v1=controller.example", "zcsi.v1.Agents=::1"}},
	{"... to call this method", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent/GetDataset"}, .allow = {"zcsi.v1.Agent/GetHost=::1"}},
	{"... because of the method's beginning", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent/GetDataset"},
	 .allow = {"zcsi.v1.Agent/GetData=::1", "zcsi.v1.Agent/GetDatasetSnapshot=::1"}},
	{"... because it is a method of another service", "node", "controller",
	 ERR_PERMISSION_DENIED, .words = {"zcsi.v1.Agent/GetDataset"},
	 .allow = {"zcsi.v1.Copy/GetDataset=::1", "GetDataset=::1"}},
	{"... because URIs are letter for letter", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent"}, .allow = {"spiffe://ZCSI/a=b"}},
	{"... because there are no wildcards", "node", "controller", ERR_PERMISSION_DENIED,
	 .words = {"zcsi.v1.Agent"}, .allow = {"*.example", "*"}},
	{"... nor in a certificate", "node", "wildcard", ERR_PERMISSION_DENIED,
	 .words = {"'*.example'"}, .allow = {"controller.example"}},
	{"a client with a common name only", "node", "localhost", ERR_PERMISSION_DENIED,
	 .words = {"is for no name, and"}, .allow = {"localhost"}},
};

static void play(const struct scene *scene)
{
	struct end server, client;
	struct error err;

	assert_int_equal(end_trust(&server, scene->server_ca ? scene->server_ca : "ca",
				   scene->server, &err),
			 0);
	assert_int_equal(end_trust(&client, scene->client_ca ? scene->client_ca : "ca",
				   scene->client, &err),
			 0);
	client.peer_name = scene->peer_name;
	server.trust.allow.values = (const char **)(uintptr_t)scene->allow;
	while (server.trust.allow.n < COUNT(scene->allow) && scene->allow[server.trust.allow.n])
		server.trust.allow.n++;
	server_start(&server);
	client_start(&client, scene->host, server.port);
	enum error_code code = ask(&client, &err);
	if (code != scene->code)
		print_error("%s: %s: %s\n", scene->title, error_name(code), err.text);
	assert_int_equal(code, scene->code);
	for (size_t i = 0; i < WORDS_MAX && scene->words[i]; i++) {
		if (!strstr(err.text, scene->words[i]))
			print_error("%s: %s\n", scene->title, err.text);
		assert_non_null(strstr(err.text, scene->words[i]));
	}
	client_stop(&client);
	server_stop(&server);
}

static void peers_are_accepted_by_their_certificate(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(scenes); i++)
		play(&scenes[i]);
}

/* Call a server with the certificate `name`. *ret is the certificate as the client saw it. */
static void see(const char *name, struct tls_certificate *ret)
{
	struct end server, client;
	struct error err;

	assert_int_equal(end_trust(&server, "ca", name, &err), 0);
	assert_int_equal(end_trust(&client, "ca", name ? "controller" : NULL, &err), 0);
	server_start(&server);
	client_start(&client, NULL, server.port);
	ask(&client, &err);
	client_certificate(client.client, ret);
	client_stop(&client);
	server_stop(&server);
}

static void a_client_is_shown_certificates_that_it_refuses_too(void **state)
{
	struct tls_certificate shown;
	const int64_t now = time(NULL);

	(void)state;
	see("node", &shown);
	assert_string_equal(shown.names, "node.example,localhost,127.0.0.1");
	assert_in_range(now + DAY - shown.until, 0, 60);
	assert_in_range(now - DAY - shown.from + 60, 0, 120);
	free(shown.names);
	see("expired", &shown);
	assert_string_equal(shown.names, "127.0.0.1");
	assert_in_range(now - DAY - shown.until, 0, 60);
	free(shown.names);
	see("localhost", &shown);
	assert_string_equal(shown.names, "");
	free(shown.names);
	see(NULL, &shown);
	assert_null(shown.names);
}

static void our_own_certificate_is_described(void **state)
{
	struct end end;
	struct tls_certificate own;
	struct error err;

	(void)state;
	assert_int_equal(end_trust(&end, "ca", "controller", &err), 0);
	tls_own(end.trust.tls, &own);
	assert_string_equal(own.names, "controller.example,spiffe://zcsi/a=b,::1");
	free(own.names);
	trust_close(&end.trust);
}

/* Tests of invalid files. */

/* Flaws of the files for TLS. Each flaw replaces the path of a valid file, or the file at that
 * path. */
static const struct flaw {
	const char *title, *ca, *certificate, *key; /* other files; NULL: the valid ones */
	const char *words;
} flaws[] = {
	{"no CA there", "none.pem", .words = "CA '%s/none.pem': No such file or directory"},
	{"no certificate there", .certificate = "none.pem",
	 .words = "certificate '%s/none.pem': No such file or directory"},
	{"no key there", .key = "none.key", .words = "key '%s/none.key': No such file"},
	{"a key for a CA", "node.key",
	 .words = "CA '%s/node.key': there is no certificate in it, in PEM"},
	{"a certificate for a CA", "node.pem",
	 .words = "CA '%s/node.pem': it is not the certificate of a CA"},
	{"a key for a certificate", .certificate = "node.key",
	 .words = "certificate '%s/node.key': there is no certificate in it, in PEM"},
	{"a certificate for a key", .key = "node.pem",
	 .words = "key '%s/node.pem': there is no private key in it, in PEM"},
	{"another's key", .key = "controller.key",
	 .words = "controller.key': it is not that of certificate '%s/node.pem'"},
	{"a key of another kind", .key = "other.key",
	 .words = "other.key': it is not that of certificate '%s/node.pem'"},
	{"half a certificate", .certificate = "half.pem",
	 .words = "certificate '%s/half.pem': there is a damaged certificate in it"},
	{"one and a half CAs", "half.pem",
	 .words = "CA '%s/half.pem': there is a damaged certificate in it"},
	{"a locked key", .key = "locked.key",
	 .words = "key '%s/locked.key': it is encrypted; give one without a passphrase"},
	{"a folder", "", .words = "CA '%s/': "},
};

/* Write a valid certificate with a damaged one behind it, a key with a passphrase, and a key of
 * another type. */
static void write_flaws(void)
{
	const struct made *ca = &made[0];
	FILE *half = create("half", "pem"), *locked = create("locked", "key");
	FILE *other = create("other", "key");
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	PEM_write_X509(half, ca->x509);
	fputs("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", half);
	PEM_write_PrivateKey(locked, ca->key, EVP_aes_128_cbc(), (const unsigned char *)"pass", 4,
			     NULL, NULL);
	PEM_write_PrivateKey(other, key, NULL, NULL, 0, NULL, NULL);
	EVP_PKEY_free(key);
	fclose(half);
	fclose(locked);
	fclose(other);
}

static void choose(char path[64], const char *name)
{
	if (name)
		snprintf(path, 64, "%s/%s", folder, name);
}

static void bad_files_are_named(void **state)
{
	(void)state;
	char words[256];
	struct end end;
	struct error err;

	write_flaws();
	for (size_t i = 0; i < COUNT(flaws); i++) {
		assert_int_equal(end_trust(&end, "ca", "node", &err), 0);
		trust_close(&end.trust);
		choose(end.ca, flaws[i].ca);
		choose(end.certificate, flaws[i].certificate);
		choose(end.key, flaws[i].key);
		assert_int_equal(trust_open(&end.trust, &err), -1);
		assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is from a table */
		snprintf(words, sizeof(words), flaws[i].words, folder);
#pragma GCC diagnostic pop
		if (!strstr(err.text, words))
			print_error("%s: %s\n", flaws[i].title, err.text);
		assert_non_null(strstr(err.text, words));
	}
}

static void incomplete_options_are_refused(void **state)
{
	(void)state;
	const char *names[] = {"zcsi.v1.Agent="};
	struct trust trust = {.ca = "ca", .certificate = "cert"};
	struct error err;

	assert_int_equal(trust_open(&trust, &err), -1);
	assert_non_null(strstr(err.text, "--tls-key is missing"));
	trust = (struct trust){.allow = {.values = names, .n = 1}};
	assert_int_equal(trust_open(&trust, &err), -1);
	assert_non_null(strstr(err.text, "--tls-ca is missing"));
	trust.ca = trust.certificate = trust.key = "any";
	assert_int_equal(trust_open(&trust, &err), -1);
	assert_non_null(strstr(err.text, "--allow 'zcsi.v1.Agent=' has no name"));
	trust = (struct trust){0};
	assert_int_equal(trust_open(&trust, &err), 0);
	assert_null(trust.tls);
}

/* Tests of files that are replaced. */

/* Redirect stderr, and so the log, to a file in the folder. Returns a copy of the old
 * descriptor. */
static int redirect_log(void)
{
	int before = dup(STDERR_FILENO);
	FILE *log = create("log", "txt");

	dup2(fileno(log), STDERR_FILENO);
	fclose(log);
	return before;
}

static unsigned n_logged(const char *words)
{
	char path[64], line[1024];
	unsigned n = 0;

	path_of(path, "log", "txt");
	FILE *log = fopen(path, "re");
	while (fgets(line, sizeof(line), log))
		n += strstr(line, words) != NULL;
	fclose(log);
	return n;
}

/* Wait until the server shows a certificate of that CA on new connections. */
static void await_server_of(const char *ca, int port)
{
	int64_t end = now_ms() + PATIENCE * 1000;
	struct error err;

	while (ask_as(ca, "controller", port, &err) != ERR_OK)
		assert_true(now_ms() < end);
}

static void new_files_are_used_and_running_calls_go_on(void **state)
{
	(void)state;
	struct end server, client;
	struct error err;

	assert_int_equal(end_trust(&server, "ca", "live", &err), 0);
	assert_int_equal(end_trust(&client, "ca", "controller", &err), 0);
	server_start(&server);
	client_start(&client, NULL, server.port);
	assert_int_equal(ask(&client, &err), ERR_OK);
	struct client_call *call = begin_wait(&client);
	wait_for(&service.begun);
	certificates_replace("live", "second");
	await_server_of("other-ca", server.port);
	assert_int_equal(ask_as("ca", "controller", server.port, &err), ERR_UNAVAILABLE);
	assert_int_equal(ask(&client, &err), ERR_OK);
	sem_post(&service.may_end);
	assert_int_equal(finish(call, &err), ERR_OK);
	certificates_replace("live", "third");
	await_server_of("ca", server.port);
	client_stop(&client);
	server_stop(&server);
}

static void bad_new_files_are_not_used(void **state)
{
	(void)state;
	struct end server;
	struct error err;
	int64_t end = now_ms() + PATIENCE * 1000;

	assert_int_equal(end_trust(&server, "ca", "live", &err), 0);
	server_start(&server);
	int terminal = redirect_log();
	FILE *key = create("live", "key");
	fputs("not yet written\n", key);
	fclose(key);
	while (n_logged("keeping the previous ones") == 0) {
		assert_int_equal(ask_as("ca", "controller", server.port, &err), ERR_OK);
		assert_true(now_ms() < end);
	}
	/* the files are checked repeatedly, and the error is logged once */
	for (end = now_ms() + 2500; now_ms() < end;)
		assert_int_equal(ask_as("ca", "controller", server.port, &err), ERR_OK);
	assert_int_equal(n_logged("keeping the previous ones"), 1);
	assert_int_equal(n_logged("live.key': there is no private key in it"), 1);
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	server_stop(&server);
}

/* Tests of large messages. */

#define TEXT_BYTES ((size_t)(4 << 20) - 100)

static void large_messages_pass_both_ways(void **state)
{
	(void)state;
	static struct client_call *calls[100];
	auto_free char *id = mem_alloc(TEXT_BYTES + 1);
	struct end server, client;
	struct error err;
	GetDatasetResponse *response;

	for (size_t i = 0; i < TEXT_BYTES; i++)
		id[i] = (char)('a' + i % 23);
	assert_int_equal(end_trust(&server, "ca", "node", &err), 0);
	assert_int_equal(end_trust(&client, "ca", "controller", &err), 0);
	server_start(&server);
	client_start(&client, NULL, server.port);
	assert_int_equal(ask(&client, &err), ERR_OK);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(client_finish(begin_get(&client, id), &response, &err), 0);
		assert_string_equal(response->dataset->id, id);
	}
	id[TEXT_BYTES / 200] = '\0';
	for (size_t i = 0; i < COUNT(calls); i++)
		calls[i] = begin_get(&client, id);
	for (size_t i = 0; i < COUNT(calls); i++) {
		assert_int_equal(client_finish(calls[i], &response, &err), 0);
		assert_string_equal(response->dataset->id, id);
	}
	client_stop(&client);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_are_accepted_by_their_certificate),
		cmocka_unit_test(a_client_is_shown_certificates_that_it_refuses_too),
		cmocka_unit_test(our_own_certificate_is_described),
		cmocka_unit_test(bad_files_are_named),
		cmocka_unit_test(incomplete_options_are_refused),
		cmocka_unit_test(new_files_are_used_and_running_calls_go_on),
		cmocka_unit_test(bad_new_files_are_not_used),
		cmocka_unit_test(large_messages_pass_both_ways),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
