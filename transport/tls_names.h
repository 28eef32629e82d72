/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_NAMES_H
#define ZCSI_TLS_NAMES_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"

/* The DNS names, URIs and IP addresses of a certificate (RFC 5280, section 4.2.1.6). */
struct tls_names {
	size_t n;
	char *list[];
};

/* Returns the names of a certificate, to be freed by tls_names_free. */
struct tls_names *tls_names_new(const X509 *cert);
void tls_names_free(struct tls_names *names);
/* Returns a copy in the arena; NULL for NULL. */
const struct tls_names *tls_names_keep(struct arena *arena, const struct tls_names *names);
/*
 * True if name is among the names. Host names are compared without regard to case, URIs exactly;
 * there are no wildcards.
 */
bool tls_names_have(const struct tls_names *names, const char *name);
/* Returns the names with commas between; to be freed. */
char *tls_names_list(const struct tls_names *names);
/* Returns a text such as "'a', 'b'", or "no name"; to be freed. */
char *tls_names_text(const struct tls_names *names);

#endif
