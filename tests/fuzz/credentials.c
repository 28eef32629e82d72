/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A certificate and its key for the fuzzers. Their paths are those of descriptors, /proc/self/fd/N,
 * so that no file is left behind and the files never change.
 */
#include "tests/fuzz/credentials.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"

#define DAY 86400L

static void extend(X509 *cert, int kind, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
}

static X509 *make_certificate(EVP_PKEY *key)
{
	X509 *cert = X509_new();

	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY);
	X509_gmtime_adj(X509_getm_notAfter(cert), 365 * DAY);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
				   (const unsigned char *)"fuzz", -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(cert));
	X509_set_pubkey(cert, key);
	extend(cert, NID_basic_constraints, "critical,CA:TRUE");
	extend(cert, NID_subject_alt_name, "DNS:localhost,URI:spiffe://fuzz/a,IP:127.0.0.1");
	MUST(X509_sign(cert, key, EVP_sha256()) > 0);
	return cert;
}

static FILE *make_file(char path[32])
{
	int fd = memfd_create("credentials", 0);

	MUST(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fdopen(fd, "w");
}

struct tls *credentials(void)
{
	static char cert_path[32], key_path[32];
	static struct tls *tls;
	struct error err;

	if (tls)
		return tls;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_certificate(key);
	FILE *file = make_file(cert_path);
	PEM_write_X509(file, cert);
	fflush(file);
	file = make_file(key_path);
	PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
	fflush(file);
	X509_free(cert);
	EVP_PKEY_free(key);
	MUST(tls_new(&tls, cert_path, cert_path, key_path, &err) == 0);
	return tls;
}
