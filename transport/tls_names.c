/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The names in a certificate.
 *
 * Invariant: text from a certificate is used only if it is printable. The common name does not
 * count (RFC 9110, section 4.3.4).
 */
#include "transport/tls_names.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

static bool is_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return n > 0;
}

/* Returns the text of a DNS name, URI or IP address, to be freed; NULL for other kinds of names. */
static char *name_text(const GENERAL_NAME *name)
{
	char text[INET6_ADDRSTRLEN];
	int kind;
	const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &kind);

	if (kind != GEN_DNS && kind != GEN_URI && kind != GEN_IPADD)
		return NULL;
	const char *bytes = (const char *)ASN1_STRING_get0_data(value);
	size_t n = (size_t)ASN1_STRING_length(value);
	if (kind != GEN_IPADD)
		return is_printable(bytes, n) ? strndup(bytes, n) : NULL;
	if (n != sizeof(struct in_addr) && n != sizeof(struct in6_addr))
		return NULL;
	inet_ntop(n == sizeof(struct in_addr) ? AF_INET : AF_INET6, bytes, text, sizeof(text));
	return strdup(text);
}

struct tls_names *tls_names_new(const X509 *cert)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	int n = all ? sk_GENERAL_NAME_num(all) : 0;
	struct tls_names *names = mem_alloc(sizeof(*names) + (size_t)n * sizeof(names->list[0]));

	for (int i = 0; i < n; i++) {
		char *text = name_text(sk_GENERAL_NAME_value(all, i));
		if (text)
			names->list[names->n++] = text;
	}
	GENERAL_NAMES_free(all);
	return names;
}

void tls_names_free(struct tls_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names);
}

const struct tls_names *tls_names_keep(struct arena *arena, const struct tls_names *names)
{
	if (!names)
		return NULL;
	struct tls_names *kept =
		arena_alloc(arena, sizeof(*kept) + names->n * sizeof(names->list[0]));
	for (size_t i = 0; i < names->n; i++)
		kept->list[kept->n++] = arena_strdup(arena, names->list[i]);
	return kept;
}

/* True if the names are equal. Host names are compared without regard to case, URIs exactly. */
static bool same_name(const char *a, const char *b)
{
	return strchr(a, '/') ? strcmp(a, b) == 0 : strcasecmp(a, b) == 0;
}

bool tls_names_have(const struct tls_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (same_name(name, names->list[i]))
			return true;
	return false;
}

/* Returns the names, each between two quotes, with text between; to be freed. */
static char *join(const struct tls_names *names, const char *quote, const char *between)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	for (size_t i = 0; i < names->n; i++)
		fprintf(out, "%s%s%s%s", i > 0 ? between : "", quote, names->list[i], quote);
	fclose(out);
	return text;
}

char *tls_names_list(const struct tls_names *names)
{
	return join(names, "", ",");
}

char *tls_names_text(const struct tls_names *names)
{
	return names->n ? join(names, "'", ", ") : mem_strdup("no name");
}
