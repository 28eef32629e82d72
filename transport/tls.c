/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Loads the three credential files into an OpenSSL context for new connections, and loads them
 * again after a change. tls_peer.c has the requirements on a peer, tls_session.c the TLS of a
 * connection.
 *
 * Invariant: tls->context was made of files that were complete and matched each other.
 *
 * The files are checked for changes when a connection is made, so that an idle process has no
 * timer. Files that cannot be loaded are reported once, and tried again after their next change.
 */
#include "transport/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "transport/tls_peer.h"

#define RECHECK_MS 1000

enum { CA, CERT, KEY, FILES };

/* The attributes of a file that change when it is replaced or written to. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct tls {
	const char *paths[FILES];
	struct stamp stamps[FILES]; /* stamps of the files checked last, loaded or not */
	int64_t checked;            /* time of the last check, now_ms() */
	SSL_CTX *context;
};

static const char *const kinds[] = {[CA] = "CA", [CERT] = "certificate", [KEY] = "key"};

/* Errors */

static int fail_file(const struct tls *tls, int which, const char *what, struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION, "%s '%s': %s", kinds[which], tls->paths[which],
		    what);
}

static int fail_openssl(const struct tls *tls, int which, struct error *err)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return fail_file(tls, which, reason ? reason : "OpenSSL refuses it", err);
}

/* Loading */

static FILE *open_file(const struct tls *tls, int which, struct error *err)
{
	FILE *file = fopen(tls->paths[which], "re");

	ERR_clear_error();
	if (!file) {
		fail_errno(err, "%s '%s'", kinds[which], tls->paths[which]);
		err->code = ERR_FAILED_PRECONDITION;
	}
	return file;
}

/* Add the n-th certificate of a file, counted from 0, to the context. */
typedef int add_fn(const struct tls *tls, SSL_CTX *context, X509 *cert, unsigned n,
		   struct error *err);

static int add_ca(const struct tls *tls, SSL_CTX *context, X509 *cert, unsigned n,
		  struct error *err)
{
	(void)n;
	if (X509_check_ca(cert) == 0)
		return fail_file(tls, CA, "it is not the certificate of a CA", err);
	int taken = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert);
	return taken ? 0 : fail_openssl(tls, CA, err);
}

/* Our own certificate is the first in the file; intermediate certificates follow. */
static int add_own(const struct tls *tls, SSL_CTX *context, X509 *cert, unsigned n,
		   struct error *err)
{
	int taken = n == 0 ? SSL_CTX_use_certificate(context, cert)
			   : (int)SSL_CTX_add1_chain_cert(context, cert);

	return taken ? 0 : fail_openssl(tls, CERT, err);
}

static int load_certificates(const struct tls *tls, int which, SSL_CTX *context, add_fn *add,
			     struct error *err)
{
	auto_fclose FILE *file = open_file(tls, which, err);
	unsigned n = 0;
	X509 *cert;

	if (!file)
		return -1;
	while ((cert = PEM_read_X509(file, NULL, NULL, NULL))) {
		int result = add(tls, context, cert, n++, err);
		X509_free(cert);
		if (result < 0)
			return -1;
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return fail_file(tls, which, "there is a damaged certificate in it", err);
	return n > 0 ? 0 : fail_file(tls, which, "there is no certificate in it, in PEM", err);
}

/* Refuse an encrypted key. Without this callback OpenSSL prompts on the terminal. */
static int no_passphrase(char *text, int size, int writing, void *arg)
{
	(void)text;
	(void)size;
	(void)writing;
	*(bool *)arg = true;
	return -1;
}

static int load_key(const struct tls *tls, SSL_CTX *context, struct error *err)
{
	auto_fclose FILE *file = open_file(tls, KEY, err);
	bool encrypted = false;

	if (!file)
		return -1;
	EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_passphrase, &encrypted);
	if (encrypted)
		return fail_file(tls, KEY, "it is encrypted; give one without a passphrase", err);
	if (!key)
		return fail_file(tls, KEY, "there is no private key in it, in PEM", err);
	bool ours = X509_check_private_key(SSL_CTX_get0_certificate(context), key);
	bool taken = ours && SSL_CTX_use_PrivateKey(context, key);
	EVP_PKEY_free(key);
	if (!ours)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "key '%s': it is not that of certificate '%s'", tls->paths[KEY],
			    tls->paths[CERT]);
	return taken ? 0 : fail_openssl(tls, KEY, err);
}

static int load(const struct tls *tls, SSL_CTX **ret, struct error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());

	if (!context)
		return fail(err, ERR_INTERNAL, "OpenSSL does not start: %s",
			    ERR_reason_error_string(ERR_peek_last_error()));
	tls_require(context);
	if (load_certificates(tls, CA, context, add_ca, err) < 0 ||
	    load_certificates(tls, CERT, context, add_own, err) < 0 ||
	    load_key(tls, context, err) < 0) {
		SSL_CTX_free(context);
		return -1;
	}
	*ret = context;
	return 0;
}

/*
 * Warn if our certificate is expired or not valid yet. A peer reports this too, but only to its
 * own caller and later.
 */
static void warn_of_dates(const struct tls *tls)
{
	char text[TLS_DATES_SIZE];

	if (tls_dates_problem(SSL_CTX_get0_certificate(tls->context), text))
		log_warn("our certificate is not valid", log_str("file", tls->paths[CERT]),
			 log_str("reason", text));
}

/* Reloading */

static struct stamp stamp_of(const char *path)
{
	struct stat st = {0};

	/* A missing file gets a zeroed stamp, which differs from the stamp of any file. */
	stat(path, &st);
	return (struct stamp){
		.device = st.st_dev, .inode = st.st_ino, .size = st.st_size, .changed = st.st_mtim};
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/*
 * True if a file changed since the last check. Call before reading the files, so that a change
 * during the reading is found by the next check.
 */
static bool have_changed(struct tls *tls)
{
	bool changed = false;

	for (int i = 0; i < FILES; i++) {
		struct stamp now = stamp_of(tls->paths[i]);
		changed |= !same(&now, &tls->stamps[i]);
		tls->stamps[i] = now;
	}
	tls->checked = now_ms();
	return changed;
}

static void reload(struct tls *tls)
{
	SSL_CTX *context;
	struct error err;

	if (load(tls, &context, &err) < 0) {
		log_warn("cannot use the new certificates, keeping the previous ones",
			 log_str("error", err.text));
		return;
	}
	/* Open connections hold references to the old context until they end. */
	SSL_CTX_free(tls->context);
	tls->context = context;
	log_info("new certificates are in use", log_str("file", tls->paths[CERT]));
	warn_of_dates(tls);
}

SSL_CTX *tls_context(struct tls *tls)
{
	if (now_ms() - tls->checked >= RECHECK_MS && have_changed(tls))
		reload(tls);
	return tls->context;
}

const char *tls_certificate(const struct tls *tls)
{
	return tls->paths[CERT];
}

void tls_own(const struct tls *tls, struct tls_certificate *ret)
{
	tls_describe(SSL_CTX_get0_certificate(tls->context), ret);
}

int tls_new(struct tls **ret, const char *ca, const char *cert, const char *key, struct error *err)
{
	struct tls *tls = mem_alloc(sizeof(*tls));

	*tls = (struct tls){.paths = {[CA] = ca, [CERT] = cert, [KEY] = key}};
	have_changed(tls);
	if (load(tls, &tls->context, err) < 0) {
		tls_free(tls);
		return -1;
	}
	warn_of_dates(tls);
	*ret = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}
