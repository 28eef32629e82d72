/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The certificate of a command that was given none: one of those in /etc/zcsi. Agents permit names,
 * so a node's own certificate is of no use here. A file that this user may not read counts as
 * missing.
 */
#include "controller/cli/credentials.h"

#include <unistd.h>

/* The names of certificates, the first choice first (jobs/README.md, jobs/systemd). */
static const char *const names[] = {"operator", "controller", "controller.zcsi"};

void credentials_find(struct trust *trust, const char *folder, struct arena *arena)
{
	const char *ca = arena_printf(arena, "%s/ca.pem", folder);

	if (trust->ca || trust->certificate || trust->key || access(ca, R_OK) != 0)
		return;
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *certificate = arena_printf(arena, "%s/%s.pem", folder, names[i]);
		const char *key = arena_printf(arena, "%s/%s.key", folder, names[i]);
		if (access(certificate, R_OK) != 0 || access(key, R_OK) != 0)
			continue;
		trust->ca = ca;
		trust->certificate = certificate;
		trust->key = key;
		return;
	}
}
