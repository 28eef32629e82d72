/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi modify: the mutable parameters of a volume, as ControllerModifyVolume changes them, which
 * Nomad has no command for.
 *
 * Invariant: all words are checked before the agent is asked, so a wrong one changes nothing.
 */
#include "controller/cli/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "controller/request/parameters.h"

static int by_key(const void *a, const void *b)
{
	const struct map_pair *one = a, *other = b;

	return strcmp(one->key, other->key);
}

/* *ret is a map of the arguments KEY=VALUE that follow the volume's id. */
static int parse_words(struct cli *cli, struct map *ret, struct error *err)
{
	size_t n = cli->n_args - 1;
	struct map_pair *pairs = arena_alloc(&cli->arena, n * sizeof(*pairs));

	for (size_t i = 0; i < n; i++) {
		const char *word = cli->args[i + 1];
		char *value = arena_strdup(&cli->arena, word);
		pairs[i].key = strsep(&value, "=");
		pairs[i].value = value;
		if (!value || !*pairs[i].key)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "'%s' is not KEY=VALUE, such as keep=daily=30", word);
	}
	qsort(pairs, n, sizeof(*pairs), by_key);
	for (size_t i = 1; i < n; i++)
		if (strcmp(pairs[i - 1].key, pairs[i].key) == 0)
			return fail(err, ERR_INVALID_ARGUMENT, "'%s' is given twice", pairs[i].key);
	*ret = (struct map){.pairs = pairs, .n = n};
	return 0;
}

static int parse(struct cli *cli, struct parameters *ret, struct error *err)
{
	struct map map;

	if (parse_words(cli, &map, err) < 0)
		return -1;
	if (map_get(&map, "replicas"))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the number of copies is changed by 'zcsi copy add %s NODE' and "
			    "'zcsi copy drop %s NODE'",
			    cli->args[0], cli->args[0]);
	return parameters_parse_mutable(&cli->arena, map, ret, err);
}

/* Returns the sentence for --dry-run: all parameters and their new values. */
static const char *text_of(struct cli *cli, const struct owned *owned)
{
	const char *words = cli->args[1];

	for (size_t i = 2; i < cli->n_args; i++)
		words = arena_printf(&cli->arena, "%s %s", words, cli->args[i]);
	return arena_printf(&cli->arena, "set %s of volume '%s' on node '%s'", words, owned->id,
			    owned->owner->node);
}

int cli_modify(struct cli *cli, struct error *err)
{
	ModifyDatasetRequest *request = new_modify_dataset_request(&cli->arena);
	struct parameters parameters;
	const struct owned *owned;

	if (parse(cli, &parameters, err) < 0 || cli_volume(cli, cli->args[0], &owned, err) < 0)
		return -1;
	const Dataset *volume = owned->entry;
	if (parameters_check_format(&cli->arena, &parameters, format_find(volume->format), err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	parameters_modify(&parameters, request);
	const struct change change = {owned->owner, "ModifyDataset", &request->base,
				      text_of(cli, owned)};
	ModifyDatasetResponse *response;
	int asked = dry_run_or_ask(cli, &change, &response, err);
	if (asked <= 0)
		return asked;
	if (response->knows_copies || !parameters_about_copies(request))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "what concerns the copies is not changed: zcsi-node of node '%s' is of an "
		    "earlier version, which has no copies",
		    owned->owner->node);
}
