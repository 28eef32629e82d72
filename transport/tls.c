/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From three files to a context that connections are made with.
 *
 * Invariant: tls->context is always one whose files were complete and belonged together. Whether
 * they changed is looked up when a connection is made, so nothing wakes an idle process; a set that
 * is no good is reported once, and looked at again when it has changed again.
 *
 * What is required of a peer is tls_peer.c's, what travels tls_session.c's.
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
	struct stamp stamps[FILES]; /* of the set looked at last, good or not */
	int64_t checked;
	SSL_CTX *context;
};

static const char *const kinds[] = {[CA] = "CA", [CERT] = "certificate", [KEY] = "key"};

/* Failing */

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

/* Reading a set */

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

/* The n-th of a file. */
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

/* Our own comes first, then what is between it and the CA. */
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

/* Else OpenSSL asks for it on the terminal. */
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
 * Warn about the dates of our certificate. A peer reports them too, but to its caller, and later.
 */
static void warn_of_dates(const struct tls *tls)
{
	char text[TLS_DATES_SIZE];

	if (tls_dates_problem(SSL_CTX_get0_certificate(tls->context), text))
		log_warn("our certificate is refused by others", log_str("file", tls->paths[CERT]),
			 log_str("reason", text));
}

/* Replacing it */

static struct stamp stamp_of(const char *path)
{
	struct stat st = {0};

	/* one that is not there has a stamp too: the next file there has another */
	stat(path, &st);
	return (struct stamp){
		.device = st.st_dev, .inode = st.st_ino, .size = st.st_size, .changed = st.st_mtim};
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Before the files are read: what is written to them meanwhile shows the next time. */
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
		log_warn("the new certificates are no good, the old ones stay in use",
			 log_str("error", err.text));
		return;
	}
	/* the connections there are hold it until they end */
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
