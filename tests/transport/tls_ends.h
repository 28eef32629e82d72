/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_TLS_ENDS_H
#define ZCSI_TEST_TLS_ENDS_H

/* Server and client with TLS, each on a loop of its own, and the certificates that a test defines.
 * These are FOLDER/NAME.pem and FOLDER/NAME.key, in a folder that each program makes once. */

#include "tests/cmocka.h"

#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "tests/transport/service.h"
#include "transport/client.h"
#include "transport/server.h"

#define DAY 86400L

struct certificate {
	const char *name;   /* name of the files, and the common name */
	const char *names;  /* alternative names, such as "DNS:a,IP:127.0.0.1"; NULL: none */
	const char *issuer; /* the name of an earlier row; NULL: self-signed */
	bool is_ca;
	long from, to;     /* seconds from now; both 0: from yesterday to tomorrow */
	const char *usage; /* extended key usage, such as "serverAuth"; NULL: any */
};

extern const char *certificates_folder;

void certificates_make(const struct certificate *certificates, size_t n);
void certificates_remove(void);
/* Replace the files of `old` by those of `new` with rename(2), as a renewal does. */
void certificates_replace(const char *old, const char *new);

/* A server of service.h or a client, with a certificate and a CA, or in plain text without them. */
struct end {
	char ca[64], certificate[64], key[64];
	struct trust trust;
	struct limits limits;
	struct looper looper;
	int port;
	struct workers *workers; /* used by a server only */
	struct server *server;
	struct client *client; /* used by a client only */
	const char *peer_name; /* used by a client only; see client.h */
	struct arena arena;
};

/* Set up *end with the certificate `name` (NULL: plain text) and the CA. Returns 0, or -1 with
 * *err. */
int end_trust(struct end *end, const char *ca, const char *name, struct error *err);
/* Returns a TCP port that is not in use. */
int free_port(void);
void server_start(struct end *server);
void server_stop(struct end *server);
/* Start a client of the server at host:port; host NULL: 127.0.0.1. */
void client_start(struct end *client, const char *host, int port);
void client_stop(struct end *client);

struct client_call *begin_get(struct end *client, const char *id);
struct client_call *begin_get_by(struct end *client, const char *id, int64_t deadline);
struct client_call *begin_wait(struct end *client);
enum error_code finish(struct client_call *call, struct error *err);
/* Make one call, and repeat it while the first attempt to connect is not over. Returns the call's
 * code. */
enum error_code ask(struct end *client, struct error *err);
/* Make one call with a client of its own, which has that CA and certificate. */
enum error_code ask_as(const char *ca, const char *name, int port, struct error *err);

#endif
