/* SPDX-License-Identifier: MPL-2.0 */
/*
 * TLS on one connection. Through a BIO of ours, OpenSSL reads from the received bytes and writes to
 * the outbox of the connection. Thus one send(2) flushes many records, and OpenSSL never waits for
 * the socket.
 *
 * Invariant: all received bytes are used when tls_session_read returns 0. OpenSSL's error queue is
 * cleared before each call of OpenSSL, because SSL_get_error reads it.
 */
#include "transport/tls_session.h"

#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "transport/tls_names.h"

#define RECORD_OVERHEAD 64 /* bytes that a record adds to its contents: 22, and a reserve */

struct tls_session {
	SSL *ssl;
	const struct tls *tls;
	const char *name; /* client: another name that the certificate must have; or NULL */
	struct outbox *out;
	const uint8_t *in;
	size_t in_size;
	struct tls_verdict verdict;
	bool ready, failed;
	unsigned key_updates;
};

/* The BIO */

static int on_read(BIO *bio, char *bytes, int size)
{
	struct tls_session *session = BIO_get_data(bio);
	size_t n = (size_t)size < session->in_size ? (size_t)size : session->in_size;

	BIO_clear_retry_flags(bio);
	if (n == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	memcpy(bytes, session->in, n);
	session->in += n;
	session->in_size -= n;
	return (int)n;
}

static int on_write(BIO *bio, const char *bytes, int n)
{
	struct tls_session *session = BIO_get_data(bio);

	outbox_add(session->out, bytes, (size_t)n);
	return n;
}

static long on_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

static void make_method(void)
{
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
	if (!method)
		abort();
	BIO_meth_set_read(method, on_read);
	BIO_meth_set_write(method, on_write);
	BIO_meth_set_ctrl(method, on_control);
}

static BIO *new_bio(struct tls_session *session)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_method);
	BIO *bio = BIO_new(method);
	if (!bio)
		return NULL;
	BIO_set_data(bio, session);
	BIO_set_init(bio, 1);
	return bio;
}

/* Error texts */

struct words {
	int reason;
	const char *text;
};

static const struct words problems[] = {
	{SSL_R_WRONG_VERSION_NUMBER, "it does not speak TLS"},
	{SSL_R_HTTP_REQUEST, "it does not speak TLS"},
	{SSL_R_UNSUPPORTED_PROTOCOL, "it does not speak TLS 1.3"},
	{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "it does not speak TLS 1.3"},
	{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "it has no certificate"},
	{SSL_R_NO_APPLICATION_PROTOCOL, "it does not speak HTTP/2"},
	{SSL_R_CALLBACK_FAILED, "it does not speak HTTP/2"}, /* the client sent no ALPN extension */
	{SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, "it does not speak HTTP/2"},
};

/* Alerts by which the peer refuses our certificate. */
static const struct words refusals[] = {
	{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "it is not valid yet, or not for this host"},
	{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, "it is for another purpose"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, "it is revoked"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "it has expired"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "it is not acceptable"},
	{SSL_R_TLSV1_ALERT_UNKNOWN_CA, "its CA is unknown there"},
	{SSL_R_TLSV1_ALERT_ACCESS_DENIED, "access is denied"},
};

static const char *find_words(const struct words *words, size_t n, int reason)
{
	for (size_t i = 0; i < n; i++)
		if (words[i].reason == reason)
			return words[i].text;
	return NULL;
}

static int explain(const struct tls_session *session, struct error *err)
{
	unsigned long code = ERR_peek_error();
	const char *text = find_words(problems, COUNT(problems), ERR_GET_REASON(code));
	const char *refusal = find_words(refusals, COUNT(refusals), ERR_GET_REASON(code));

	if (session->verdict.problem)
		return fail(err, ERR_UNAVAILABLE, "%s", session->verdict.problem);
	if (refusal)
		return fail(err, ERR_UNAVAILABLE, "it refuses our certificate '%s': %s",
			    tls_certificate(session->tls), refusal);
	if (!text)
		text = ERR_reason_error_string(code);
	return fail(err, ERR_UNAVAILABLE, "TLS failed: %s", text ? text : "no reason is known");
}

/*
 * Send an alert to a peer that does not speak TLS, because OpenSSL sends none. A client of ours
 * without certificates recognises the alert and reports that TLS is needed (conn_socket.c).
 */
static void alert_plaintext(struct tls_session *session)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, SSL3_AL_FATAL, SSL_AD_UNEXPECTED_MESSAGE};
	int reason = ERR_GET_REASON(ERR_peek_error());

	if (!session->verdict.host &&
	    (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST))
		outbox_add(session->out, alert, sizeof(alert));
}

static int over(struct tls_session *session, int result, struct error *err)
{
	if (SSL_get_error(session->ssl, result) == SSL_ERROR_ZERO_RETURN)
		return fail(err, ERR_UNAVAILABLE, "closed by the peer");
	session->failed = true;
	alert_plaintext(session);
	return explain(session, err);
}

/* Creation and end */

/* Callback for every TLS message: count the key updates of the peer. */
static void on_message(int sent, int version, int kind, const void *bytes, size_t n, SSL *ssl,
		       void *arg)
{
	struct tls_session *session = arg;

	(void)version, (void)ssl;
	if (!sent && kind == SSL3_RT_HANDSHAKE && n > 0 &&
	    *(const uint8_t *)bytes == SSL3_MT_KEY_UPDATE)
		session->key_updates++;
}

struct tls_session *tls_session_new(struct tls *tls, const char *host, const char *name,
				    struct outbox *out)
{
	struct tls_session *session = mem_alloc(sizeof(*session));

	*session = (struct tls_session){.ssl = SSL_new(tls_context(tls)),
					.tls = tls,
					.name = name,
					.out = out,
					.verdict.host = host};
	BIO *bio = new_bio(session);
	if (!session->ssl || !bio || !SSL_set_app_data(session->ssl, &session->verdict) ||
	    (host && !tls_require_host(session->ssl, host))) {
		BIO_free(bio);
		tls_session_free(session);
		return NULL;
	}
	SSL_set_msg_callback(session->ssl, on_message);
	SSL_set_msg_callback_arg(session->ssl, session);
	SSL_set_bio(session->ssl, bio, bio);
	if (!host) {
		SSL_set_accept_state(session->ssl);
		return session;
	}
	SSL_set_connect_state(session->ssl);
	/* The client sends the first message: put it into the outbox. */
	SSL_do_handshake(session->ssl);
	return session;
}

void tls_session_free(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	free(session->verdict.problem);
	free(session->verdict.shown.names);
	free(session);
}

bool tls_session_ready(const struct tls_session *session)
{
	return session->ready;
}

void tls_session_take(struct tls_session *session, const uint8_t *bytes, size_t n)
{
	session->in = bytes;
	session->in_size = n;
}

/* Client only: check the server, at the end of the handshake, for what OpenSSL does not check. */
static int check_server(const struct tls_session *session, struct error *err)
{
	if (!tls_agreed_on_http2(session->ssl))
		return fail(err, ERR_UNAVAILABLE, "TLS failed: it does not speak HTTP/2");
	if (!session->name)
		return 0;
	auto_free char *problem =
		tls_name_problem(SSL_get0_peer_certificate(session->ssl), session->name);
	return problem ? fail(err, ERR_UNAVAILABLE, "%s", problem) : 0;
}

/* Record the end of the handshake. The bytes that end it may contain the first message too. */
static int check_ready(struct tls_session *session, struct error *err)
{
	if (session->ready || !SSL_is_init_finished(session->ssl))
		return 0;
	if (session->verdict.host && check_server(session, err) < 0) {
		session->failed = true;
		return -1;
	}
	session->ready = true;
	return 0;
}

ssize_t tls_session_read(struct tls_session *session, uint8_t *bytes, size_t size,
			 struct error *err)
{
	ERR_clear_error();
	int n = SSL_read(session->ssl, bytes, (int)size);

	if (check_ready(session, err) < 0)
		return -1;
	if (n > 0)
		return n;
	return SSL_get_error(session->ssl, n) == SSL_ERROR_WANT_READ ? 0 : over(session, n, err);
}

int tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
		      struct error *err)
{
	size_t records = n / SSL3_RT_MAX_PLAIN_LENGTH + 1;

	ERR_clear_error();
	outbox_reserve(session->out, n + records * RECORD_OVERHEAD);
	int written = SSL_write(session->ssl, bytes, (int)n);
	return written > 0 ? 0 : over(session, written, err);
}

unsigned tls_session_key_updates(struct tls_session *session)
{
	unsigned n = session->key_updates;

	session->key_updates = 0;
	return n;
}

void tls_session_end(struct tls_session *session)
{
	ERR_clear_error();
	/* close_notify is not allowed during the handshake and not possible after a failure. */
	if (session->ready && !session->failed)
		SSL_shutdown(session->ssl);
}

const char *tls_session_eof(const struct tls_session *session)
{
	return session->ready ? "closed without a TLS close_notify"
			      : "closed during the TLS handshake";
}

const struct tls_certificate *tls_session_shown(const struct tls_session *session)
{
	return &session->verdict.shown;
}

struct tls_names *tls_session_peer(const struct tls_session *session)
{
	return tls_names_new(SSL_get0_peer_certificate(session->ssl));
}
