/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The name under which a statement of an operator is recorded.
 *
 * Invariant: the name is only for people who read records. No permission depends on it.
 */
#include "controller/cli/failover/who.h"

#include <stdlib.h>
#include <unistd.h>

char *who_runs(struct arena *arena)
{
	const char *user = getenv("SUDO_USER");
	char host[64] = "?";

	if (!user)
		user = getenv("USER");
	gethostname(host, sizeof(host) - 1);
	return arena_printf(arena, "%s@%s", user ? user : "?", host);
}
