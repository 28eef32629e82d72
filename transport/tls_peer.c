/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Requirements on a TLS peer, and the error texts for a peer that does not meet them.
 *
 * Invariant: a handshake succeeds only with TLS 1.3, "h2" chosen by ALPN and a certificate of the
 * CA; on a client, the certificate must also be for the host that was called.
 */
#include "transport/tls_peer.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "transport/tls_names.h"

static const uint8_t http2[] = {2, 'h', '2'}; /* a protocol list in ALPN's format (RFC 7301) */

/* Dates */

static void put_date(char text[TLS_DATES_SIZE], const char *what, const ASN1_TIME *time)
{
	struct tm tm;
	size_t n = (size_t)snprintf(text, TLS_DATES_SIZE, "%s ", what);

	if (!ASN1_TIME_to_tm(time, &tm) ||
	    strftime(text + n, TLS_DATES_SIZE - n, "%F %T UTC", &tm) == 0)
		snprintf(text + n, TLS_DATES_SIZE - n, "a date that is none");
}

bool tls_dates_problem(const X509 *cert, char ret_text[TLS_DATES_SIZE])
{
	const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);

	if (X509_cmp_current_time(from) >= 0)
		put_date(ret_text, "is not valid before", from);
	else if (X509_cmp_current_time(to) <= 0)
		put_date(ret_text, "expired on", to);
	else
		return false;
	return true;
}

/* Returns a time in seconds since 1970, or 0 if the ASN.1 time is malformed. */
static int64_t seconds_of(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) ? (int64_t)timegm(&tm) : 0;
}

void tls_describe(const X509 *cert, struct tls_certificate *ret)
{
	struct tls_names *names = tls_names_new(cert);

	*ret = (struct tls_certificate){.from = seconds_of(X509_get0_notBefore(cert)),
					.until = seconds_of(X509_get0_notAfter(cert)),
					.names = tls_names_list(names)};
	tls_names_free(names);
}

/* Refused certificates */

static char *not_for(const struct tls_names *names, const char *name)
{
	auto_free char *text = tls_names_text(names);
	char *problem = NULL;

	if (asprintf(&problem, "its certificate is for %s, not for '%s'", text, name) < 0)
		abort();
	return problem;
}

static char *host_problem(const X509 *cert, const char *host)
{
	struct tls_names *names = tls_names_new(cert);
	char *problem = not_for(names, host);

	tls_names_free(names);
	return problem;
}

char *tls_name_problem(const X509 *cert, const char *name)
{
	struct tls_names *names = tls_names_new(cert);
	char *problem = tls_names_have(names, name) ? NULL : not_for(names, name);

	tls_names_free(names);
	return problem;
}

/*
 * Returns the reason why a certificate was refused, to be freed. The subject is quoted from the
 * certificate, with unprintable bytes as \xNN.
 */
static char *problem_text(X509_STORE_CTX *store, const char *host)
{
	int error = X509_STORE_CTX_get_error(store);
	const X509 *cert = X509_STORE_CTX_get_current_cert(store);
	char subject[256] = "?", issuer[256] = "?", dates[TLS_DATES_SIZE];
	const char *reason = X509_verify_cert_error_string(error);
	char *problem = NULL;
	int n;

	if (host &&
	    (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH))
		return host_problem(cert, host);
	if (cert) {
		X509_NAME_oneline(X509_get_subject_name(cert), subject, sizeof(subject));
		X509_NAME_oneline(X509_get_issuer_name(cert), issuer, sizeof(issuer));
	}
	switch (error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		tls_dates_problem(cert, dates);
		n = asprintf(&problem, "its certificate '%s' %s", subject, dates);
		break;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		n = asprintf(&problem,
			     "its certificate '%s' is of '%s', which is not a CA of --tls-ca",
			     subject, issuer);
		break;
	default:
		n = asprintf(&problem, "its certificate '%s': %s", subject, reason);
	}
	if (n < 0)
		abort();
	return problem;
}

static int on_certificate(int good, X509_STORE_CTX *store)
{
	const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_verdict *verdict = SSL_get_app_data(ssl);

	if (verdict->host && !verdict->shown.names)
		tls_describe(X509_STORE_CTX_get0_cert(store), &verdict->shown);
	if (!good && !verdict->problem)
		verdict->problem = problem_text(store, verdict->host);
	return good;
}

/* HTTP/2 */

static int choose(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
		  const unsigned char *offered, unsigned n_offered, void *arg)
{
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_size, http2, sizeof(http2), offered, n_offered) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* Refuse a client without ALPN here, because OpenSSL does not call choose() for it. */
static int on_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *offered;
	size_t n;

	(void)arg;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation,
				      &offered, &n))
		return SSL_CLIENT_HELLO_SUCCESS;
	*alert = SSL_AD_NO_APPLICATION_PROTOCOL;
	return SSL_CLIENT_HELLO_ERROR;
}

bool tls_agreed_on_http2(const SSL *ssl)
{
	const unsigned char *chosen;
	unsigned n;

	SSL_get0_alpn_selected(ssl, &chosen, &n);
	return n == sizeof(http2) - 1 && memcmp(chosen, http2 + 1, n) == 0;
}

/* Older TLS versions and optional features are off: peers are of this project, or as current. */
void tls_require(SSL_CTX *context)
{
	SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
	SSL_CTX_set_options(context,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			   on_certificate);
	/* Every certificate of --tls-ca is a trust anchor, also an intermediate CA. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
	SSL_CTX_set_alpn_protos(context, http2, sizeof(http2));
	SSL_CTX_set_alpn_select_cb(context, choose, NULL);
	SSL_CTX_set_client_hello_cb(context, on_hello, NULL);
}

bool tls_require_host(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (X509_VERIFY_PARAM_set1_ip_asc(param, host))
		return true;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
						       X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, host, 0) && SSL_set_tlsext_host_name(ssl, host);
}
