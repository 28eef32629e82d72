/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_SESSION_H
#define ZCSI_TLS_SESSION_H

/*
 * TLS on one connection, without a socket: the caller passes received bytes in, and records to be
 * sent are put into an outbox. No function blocks. Loop thread only.
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
 * Returns a session, or NULL when out of memory. For a client, host is the DNS name or IP address
 * that the server's certificate must be for, and name is another name that it must have
 * (tls_names_have), or NULL. For a server, both are NULL. All arguments outlive the session.
 */
struct tls_session *tls_session_new(struct tls *tls, const char *host, const char *name,
				    struct outbox *out);
void tls_session_free(struct tls_session *session);

/* True once the handshake is complete. Nothing may be written before. */
bool tls_session_ready(const struct tls_session *session);
/* Pass n received bytes in. They must stay in place until tls_session_read returns 0 or -1. */
void tls_session_take(struct tls_session *session, const uint8_t *bytes, size_t n);
/*
 * Decrypt up to size bytes. Returns their number; 0 if more bytes must be received first; or -1
 * with the reason in *err if the session has ended.
 */
ssize_t tls_session_read(struct tls_session *session, uint8_t *bytes, size_t size,
			 struct error *err);
/* Encrypt n bytes into the outbox. Returns -1 if the session has failed. */
int tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
		      struct error *err);
/* Returns the number of key updates by the peer since the last call. Each costs us a new key. */
unsigned tls_session_key_updates(struct tls_session *session);
/* Send close_notify, by which the peer distinguishes the end of the data from a lost connection. */
void tls_session_end(struct tls_session *session);
/* Returns the reason to report for an end of the socket without close_notify. Static text. */
const char *tls_session_eof(const struct tls_session *session);

/* Returns the certificate that a server has shown; its members are owned by the session. */
const struct tls_certificate *tls_session_shown(const struct tls_session *session);
/* Returns the names in the peer's certificate, to be freed. Call when the session is ready. */
struct tls_names *tls_session_peer(const struct tls_session *session);

#endif
