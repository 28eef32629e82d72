/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the data_dir of a Nomad client from CSI_ENDPOINT.
 *
 * Nomad listens at STATE/csi/plugins/ALLOCATION/csi.sock, and makes the folders for mounts in
 * STATE/csi/node/PLUGIN, where STATE is DATA_DIR/client. With `nomad agent -dev` STATE is a
 * temporary folder, which is below no data_dir.
 */
#include "node/host/data_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"

#define SCHEME "unix://"
#define CLIENT "/client"

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && !strcmp(text + size - end_size, end);
}

/* Cut the last component off a path. Returns false if it is missing, or not `name` (NULL: any). */
static bool cut(char *path, const char *name)
{
	char *slash = strrchr(path, '/');

	if (!slash || (name && strcmp(slash + 1, name) != 0))
		return false;
	*slash = '\0';
	return true;
}

/* Cut off what Nomad appends to STATE. Returns false if the path is not of that form. */
static bool cut_to_state(char *path)
{
	static const char *const names[] = {NULL, NULL, "plugins", "csi"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (!cut(path, names[i]))
			return false;
	return true;
}

/* Returns STATE; NULL if no endpoint has the path that Nomad gives. The caller frees it. */
static char *state_of(const struct option_list *endpoints)
{
	for (size_t i = 0; i < endpoints->n; i++) {
		const char *endpoint = endpoints->values[i];
		if (strncmp(endpoint, SCHEME, strlen(SCHEME)) != 0)
			continue;
		auto_free char *path = mem_strdup(endpoint + strlen(SCHEME));
		if (cut_to_state(path))
			return steal_ptr(path);
	}
	return NULL;
}

static bool is_same(const char *path, const char *other)
{
	struct stat left, right;

	return stat(path, &left) == 0 && stat(other, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* Returns the advice of data_dir_advice for a client with this STATE. The caller frees it. */
static char *advice_for(const char *state)
{
	char *advice;
	int length = ends_with(state, CLIENT)
			     ? asprintf(&advice, "run its job with -var data_dir=%.*s",
					(int)(strlen(state) - strlen(CLIENT)), state)
			     : asprintf(&advice,
					"the state of its Nomad agent is in '%s', which is below "
					"no data_dir; start the agent with -data-dir DIR, and run "
					"the job with -var data_dir=DIR",
					state);
	if (length < 0)
		abort();
	return advice;
}

int data_dir_check(const char *named, const struct option_list *endpoints, struct error *err)
{
	auto_free char *state = state_of(endpoints), *mine = NULL;

	if (!named || !state)
		return 0;
	if (asprintf(&mine, "%s" CLIENT, named) < 0)
		abort();
	if (is_same(mine, state))
		return 0;
	auto_free char *advice = advice_for(state);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "the job names data_dir '%s', which is not that of this client: %s", named,
		    advice);
}

char *data_dir_advice(const struct option_list *endpoints)
{
	auto_free char *state = state_of(endpoints);

	return state ? advice_for(state) : mem_strdup("create it");
}
