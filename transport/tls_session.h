/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_SESSION_H
#define ZCSI_TLS_SESSION_H

/*
 * TLS on one connection, without a socket: bytes that came go in, records that are to be sent come
 * out in an outbox. It never waits for the one to take the other. Loop thread only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "transport/outbox.h"
#include "transport/tls.h"
#include "transport/tls_peer.h"

struct tls_session;

/*
 * host: a client's, whose certificate the server must have; NULL for a server. out outlives it.
 * NULL: out of memory.
 */
struct tls_session *tls_session_new(struct tls *tls, const char *host, struct outbox *out);
void tls_session_free(struct tls_session *session);

/* Is the handshake over? Nothing is to be written before. */
bool tls_session_ready(const struct tls_session *session);
/* Hand over received bytes. They must stay in place until tls_session_read has returned 0 or -1. */
void tls_session_take(struct tls_session *session, const uint8_t *bytes, size_t n);
/* The next bytes that the peer meant for us; 0: more must come. -1: it is over, *err says why. */
ssize_t tls_session_read(struct tls_session *session, uint8_t *bytes, size_t size,
			 struct error *err);
int tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
		      struct error *err);
/* How often the peer changed its keys since this was asked last: each time costs us new ones. */
unsigned tls_session_key_updates(struct tls_session *session);
/* Write nothing more. The peer can then tell lost data from data that was never sent. */
void tls_session_end(struct tls_session *session);
/* The socket ended: what that means, when nothing else was said before. */
const char *tls_session_eof(const struct tls_session *session);

/* The names of the peer's certificate, the caller's to free, once it is ready. */
struct tls_names *tls_session_peer(const struct tls_session *session);

#endif
