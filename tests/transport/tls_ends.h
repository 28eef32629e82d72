/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_TLS_ENDS_H
#define ZCSI_TEST_TLS_ENDS_H

/*
 * Both ends of a TLS connection, each on a loop of its own, and certificates as a test wants them.
 * They are in FOLDER/NAME.pem with FOLDER/NAME.key, in a folder that a program makes once.
 */

#include "tests/cmocka.h"

#include <stdbool.h>
#include <string.h>

#include "common/clock.h"
#include "tests/transport/service.h"
#include "transport/client.h"
#include "transport/server.h"

#define DAY 86400L

struct certificate {
	const char *name;   /* of the files, and the common name */
	const char *names;  /* "DNS:a,IP:127.0.0.1"; NULL: none */
	const char *issuer; /* the name of one further up in the table; NULL: itself */
	bool is_ca;
	long from, to;     /* seconds from now; both 0: yesterday to tomorrow */
	const char *usage; /* extended, "serverAuth"; NULL: any */
};

extern const char *certificates_folder;

void certificates_make(const struct certificate *certificates, size_t n);
void certificates_remove(void);
/* Put one's files in the place of another's, at once, as a renewal does. */
void certificates_replace(const char *old, const char *new);

/* A server of service.h, or a client, with the files of a name and those of a CA; NULL: plain. */
struct end {
	char ca[64], certificate[64], key[64];
	struct trust trust;
	struct limits limits;
	struct looper looper;
	int port;
	struct workers *workers; /* a server's */
	struct server *server;
	struct client *client; /* a client's */
	struct arena arena;
};

/* Its files are there, or *err says what is wrong. */
int end_trust(struct end *end, const char *ca, const char *name, struct error *err);
/* A port that nobody has. */
int free_port(void);
void server_start(struct end *server);
void server_stop(struct end *server);
/* Of the server at host:port; host may be NULL. */
void client_start(struct end *client, const char *host, int port);
void client_stop(struct end *client);

struct client_call *begin_get(struct end *client, const char *id);
struct client_call *begin_wait(struct end *client);
enum error_code finish(struct client_call *call, struct error *err);
/* One whole call; again, as long as a first attempt to connect is not over. */
enum error_code ask(struct end *client, struct error *err);
/* A client's only call, with the files of CA and name. */
enum error_code ask_as(const char *ca, const char *name, int port, struct error *err);

#endif
