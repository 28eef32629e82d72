/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about certificates: those that the agents have shown, and that of zcsi itself. A
 * certificate of less than a year is renewed by a program, such as Vault, perhaps days before its
 * end, so a finding comes only in the last twelfth of its time.
 *
 * Invariant: a name is printed in a command only if it has no special character of a shell, since a
 * refused certificate may come from any server.
 */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "controller/cli/doctor/doctor.h"
#include "controller/cli/print/amount.h"
#include "transport/endpoint.h"

/* A certificate ends soon if less than SOON_S and less than 1/PART of its whole time are left. */
#define SOON_S (30 * 86400)
#define PART   12

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_/,";

/* Returns the command that makes a certificate with these names and one more, or NULL. */
static const char *renewal(struct arena *arena, const char *names, const char *more)
{
	const char *all = *names && *more ? arena_printf(arena, "%s,%s", names, more) : names;

	if (!*all || *all == '-' || all[strspn(all, plain)])
		return NULL;
	return arena_printf(arena, "jobs/local/certs certs %s", all);
}

static bool has_name(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (; *names; names += strcspn(names, ","), names += *names == ',')
		if (strcspn(names, ",") == length && strncasecmp(names, name, length) == 0)
			return true;
	return false;
}

/* Returns the host of an agent's endpoint that its certificate does not name, or "". */
static const char *missing_host(struct arena *arena, const struct member *member)
{
	struct endpoint endpoint;
	struct error ignored;

	if (member->host || !member->certificate.names ||
	    endpoint_parse(member->endpoint, &endpoint, &ignored) < 0 ||
	    has_name(member->certificate.names, endpoint.host))
		return "";
	return arena_strdup(arena, endpoint.host);
}

bool doctor_certificate_refused(const struct member *member)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	return member->certificate.names && !member->host &&
	       (member->certificate.until <= time(NULL) || *missing_host(&arena, member));
}

static bool ends_soon(const struct tls_certificate *certificate)
{
	int64_t left = certificate->until - time(NULL);

	return left < SOON_S && left < (certificate->until - certificate->from) / PART;
}

/* Add that a certificate has ended, or ends soon. `whose` begins the sentence, `where` ends it. */
static void say_end(struct doctor *doctor, const struct tls_certificate *certificate,
		    const char *node, const char *whose, const char *where)
{
	struct arena *arena = &doctor->cli->arena;
	int64_t left = certificate->until - time(NULL);
	const char *end = amount_moment(arena, certificate->until);

	if (!ends_soon(certificate))
		return;
	doctor_say(
		doctor,
		&(struct finding){
			.level = left <= 0 ? DOCTOR_STOPS : DOCTOR_MAY_STOP,
			.node = node,
			.text = left <= 0
					? arena_printf(arena,
						       "%s ended at %s: make another one where "
						       "ca.key is, and copy its two files %s",
						       whose, end, where)
					: arena_printf(arena,
						       "%s ends in %s, at %s: make another one "
						       "where ca.key is, and copy its two files %s",
						       whose, amount_time(arena, left), end, where),
			.type = renewal(arena, certificate->names, "")});
}

static void say_host(struct doctor *doctor, const struct member *member)
{
	struct arena *arena = &doctor->cli->arena;
	const char *names = member->certificate.names, *host = missing_host(arena, member);

	if (!*host)
		return;
	const char *has = *names ? arena_printf(arena, "is for %s, not for", names)
				 : "has no name, so it is not for";
	doctor_say(doctor,
		   &(struct finding){
			   .level = DOCTOR_STOPS,
			   .node = member->node,
			   .text = arena_printf(arena,
						"its certificate %s '%s': make another one where "
						"ca.key is, and copy its two files to the host",
						has, host),
			   .type = renewal(arena, names, host)});
}

void doctor_certificates(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;

	if (cli->own_file)
		say_end(doctor, &cli->own, NULL,
			arena_printf(&cli->arena, "the certificate of zcsi, '%s',", cli->own_file),
			"to this host");
	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *each = &cli->members[i];
		if (!each->certificate.names)
			continue;
		say_end(doctor, &each->certificate, each->node, "its certificate", "to the host");
		say_host(doctor, each);
	}
}
