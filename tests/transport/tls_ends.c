/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Server and client with TLS, and their certificates. A test program includes this file once,
 * because each program of tests/transport has a single source file.
 */
#include "tests/transport/tls_ends.h"

#include <dirent.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Creation of certificates. */

#define CERTIFICATES_MAX 32

static char folder[32];
const char *certificates_folder = folder;

static struct made {
	const struct certificate *it;
	X509 *x509;
	EVP_PKEY *key;
} made[CERTIFICATES_MAX];
static size_t n_made;

static void path_of(char path[64], const char *name, const char *suffix)
{
	snprintf(path, 64, "%s/%s.%s", folder, name, suffix);
}

static FILE *create(const char *name, const char *suffix)
{
	char path[64];

	path_of(path, name, suffix);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	return file;
}

static void extend(const struct made *made_now, int kind, const char *value)
{
	X509_EXTENSION *extension = value ? X509V3_EXT_conf_nid(NULL, NULL, kind, value) : NULL;

	if (extension)
		X509_add_ext(made_now->x509, extension, -1);
	X509_EXTENSION_free(extension);
}

static const struct made *issuer_of(const struct made *one)
{
	for (size_t i = 0; one->it->issuer && i < n_made; i++)
		if (strcmp(made[i].it->name, one->it->issuer) == 0)
			return &made[i];
	return one;
}

static void fill(const struct made *one)
{
	const struct certificate *it = one->it;
	const struct made *issuer = issuer_of(one);
	bool usual = it->from == 0 && it->to == 0;

	X509_set_version(one->x509, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(one->x509), (long)n_made + 1);
	X509_gmtime_adj(X509_getm_notBefore(one->x509), usual ? -DAY : it->from);
	X509_gmtime_adj(X509_getm_notAfter(one->x509), usual ? DAY : it->to);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(one->x509), "CN", MBSTRING_ASC,
				   (const unsigned char *)it->name, -1, -1, 0);
	X509_set_pubkey(one->x509, one->key);
	extend(one, NID_basic_constraints, it->is_ca ? "critical,CA:TRUE" : "CA:FALSE");
	extend(one, NID_subject_alt_name, it->names);
	extend(one, NID_ext_key_usage, it->usage);
	X509_set_issuer_name(one->x509, X509_get_subject_name(issuer->x509));
	assert_true(X509_sign(one->x509, issuer->key, EVP_sha256()) > 0);
}

void certificates_make(const struct certificate *certificates, size_t n)
{
	strcpy(folder, "/tmp/zcsi-tls-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_true(n <= CERTIFICATES_MAX);
	for (n_made = 0; n_made < n; n_made++) {
		struct made *one = &made[n_made];
		*one = (struct made){&certificates[n_made], X509_new(), EVP_EC_gen("P-256")};
		fill(one);
		FILE *file = create(one->it->name, "pem");
		PEM_write_X509(file, one->x509);
		fclose(file);
		file = create(one->it->name, "key");
		PEM_write_PrivateKey(file, one->key, NULL, NULL, 0, NULL, NULL);
		fclose(file);
	}
}

void certificates_remove(void)
{
	DIR *files = opendir(folder);

	for (size_t i = 0; i < n_made; i++) {
		X509_free(made[i].x509);
		EVP_PKEY_free(made[i].key);
	}
	for (const struct dirent *file; (file = readdir(files));)
		unlinkat(dirfd(files), file->d_name, 0);
	closedir(files);
	assert_int_equal(rmdir(folder), 0);
}

void certificates_replace(const char *old, const char *new)
{
	static const char *const suffixes[] = {"pem", "key"};
	char from[64], to[64];

	for (size_t i = 0; i < COUNT(suffixes); i++) {
		path_of(from, new, suffixes[i]);
		path_of(to, old, suffixes[i]);
		assert_int_equal(rename(from, to), 0);
	}
}

/* Functions that start and stop server and client. */

int end_trust(struct end *end, const char *ca, const char *name, struct error *err)
{
	*end = (struct end){.limits = limits_default};
	end->limits.wait_ms = 50;
	if (!name)
		return 0;
	path_of(end->ca, ca, "pem");
	path_of(end->certificate, name, "pem");
	path_of(end->key, name, "key");
	end->trust.ca = end->ca;
	end->trust.certificate = end->certificate;
	end->trust.key = end->key;
	return trust_open(&end->trust, err);
}

int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

void server_start(struct end *server)
{
	const struct server_offer offer = {.services = services, .trust = &server->trust};
	char endpoint[32];
	struct error err;

	memset(&service, 0, sizeof(service));
	sem_init(&service.begun, 0, 0);
	sem_init(&service.may_end, 0, 0);
	server->port = free_port();
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d", server->port);
	assert_int_equal(loop_new(&server->looper.loop, &err), 0);
	assert_int_equal(workers_new(&server->workers, server->looper.loop, 2, &err), 0);
	server->server = server_new(server->looper.loop, server->workers, &server->limits);
	assert_int_equal(server_listen(server->server, endpoint, &offer, &err), 0);
	looper_start(&server->looper);
}

static void drain(void *arg)
{
	struct end *server = arg;

	server_drain(server->server, looper_stop, server->looper.loop);
}

void server_stop(struct end *server)
{
	looper_do(&server->looper, drain, server);
	pthread_join(server->looper.thread, NULL);
	server_free(server->server);
	workers_free(server->workers);
	loop_free(server->looper.loop);
	trust_close(&server->trust);
}

void client_start(struct end *client, const char *host, int port)
{
	const struct client_options options = {.limits = &client->limits,
					       .tls = client->trust.tls,
					       .peer_name = client->peer_name};
	char endpoint[64];
	struct error err;

	client->port = port;
	snprintf(endpoint, sizeof(endpoint), "tcp://%s:%d", host ? host : "127.0.0.1", port);
	arena_init(&client->arena, SIZE_MAX);
	assert_int_equal(loop_new(&client->looper.loop, &err), 0);
	assert_int_equal(client_new(&client->client, client->looper.loop, endpoint, &options, &err),
			 0);
	looper_start(&client->looper);
}

void client_stop(struct end *client)
{
	looper_do(&client->looper, looper_stop, client->looper.loop);
	pthread_join(client->looper.thread, NULL);
	client_free(client->client);
	loop_free(client->looper.loop);
	arena_fini(&client->arena);
	trust_close(&client->trust);
}

/* Functions that begin and end calls. */

static struct client_call *begin_by(struct end *client, const char *method,
				    const ProtobufCMessage *request, int64_t deadline)
{
	return client_begin(client->client, &client->arena, &zcsi__v1__agent__descriptor, method,
			    request, deadline);
}

static struct client_call *begin(struct end *client, const char *method,
				 const ProtobufCMessage *request)
{
	return begin_by(client, method, request, now_ms() + PATIENCE * 1000);
}

struct client_call *begin_get_by(struct end *client, const char *id, int64_t deadline)
{
	GetDatasetRequest *request = new_get_dataset_request(&client->arena);

	request->id = (char *)(uintptr_t)id;
	return begin_by(client, "GetDataset", &request->base, deadline);
}

struct client_call *begin_get(struct end *client, const char *id)
{
	return begin_get_by(client, id, now_ms() + PATIENCE * 1000);
}

struct client_call *begin_wait(struct end *client)
{
	ResizeDatasetRequest *request = new_resize_dataset_request(&client->arena);

	request->size = WAIT;
	return begin(client, "ResizeDataset", &request->base);
}

enum error_code finish(struct client_call *call, struct error *err)
{
	void *response;

	*err = (struct error){0};
	return client_finish(call, &response, err) == 0 ? ERR_OK : err->code;
}

enum error_code ask(struct end *client, struct error *err)
{
	int64_t end = now_ms() + PATIENCE * 1000;
	enum error_code code;

	do
		code = finish(begin_get(client, "a"), err);
	while (strstr(err->text, "it does not answer") && now_ms() < end);
	return code;
}

enum error_code ask_as(const char *ca, const char *name, int port, struct error *err)
{
	struct end client;

	assert_int_equal(end_trust(&client, ca, name, err), 0);
	client_start(&client, NULL, port);
	enum error_code code = ask(&client, err);
	client_stop(&client);
	return code;
}
