/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Looking up the volumes that nodes which returned have put aside.
 *
 * Invariant: if the operator's words fit several volumes, none of them is chosen.
 */
#include "controller/cli/failover/aside.h"

#include <string.h>

struct aside *aside_list(struct cli *cli, const char *name, size_t *ret_n)
{
	const ListDivergedRequest *request = new_list_diverged_request(&cli->arena);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListDiverged", &request->base);
	size_t most = 1;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		most += list ? list->n_volumes : 0;
		if (cli->members[i].host && !list)
			cli->members[i].error = replies[i].error;
	}
	struct aside *found = arena_alloc(&cli->arena, most * sizeof(*found));
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_volumes; k++) {
			const DivergedVolume *row = list->volumes[k];
			if (!name || strcmp(row->id, name) == 0 || strcmp(row->name, name) == 0)
				found[(*ret_n)++] = (struct aside){&cli->members[i], row};
		}
	}
	return found;
}

/*
 * Returns how many datasets of the list, on --node if it is given, have the name, or, if
 * by_volume, are of the volume with that id. *ret is the last of them.
 */
static size_t count(const struct cli *cli, const struct aside *list, size_t n, const char *name,
		    bool by_volume, const struct aside **ret)
{
	size_t fit = 0;

	for (size_t i = 0; i < n; i++) {
		const DivergedVolume *volume = list[i].volume;
		if (strcmp(by_volume ? volume->id : volume->name, name) != 0 ||
		    (cli->node && strcmp(list[i].member->node, cli->node) != 0))
			continue;
		*ret = &list[i];
		fit++;
	}
	return fit;
}

const struct aside *aside_find(struct cli *cli, const char *name, bool by_volume, struct error *err)
{
	const struct aside *one = NULL;
	size_t n;
	const struct aside *list = aside_list(cli, name, &n);
	size_t fit = count(cli, list, n, name, false, &one);
	bool of_volume = !fit && by_volume;

	if (of_volume)
		fit = count(cli, list, n, name, true, &one);
	if (fit == 1)
		return one;
	if (fit && of_volume)
		fail(err, ERR_FAILED_PRECONDITION,
		     "there are several of volume '%s': give a name of 'zcsi diverged list %s', "
		     "and --node NODE",
		     name, name);
	else if (fit)
		fail(err, ERR_FAILED_PRECONDITION, "several nodes have '%s': add --node NODE",
		     name);
	else
		fail(err, ERR_NOT_FOUND,
		     "no node that answers has put '%s' aside; 'zcsi diverged list' prints the "
		     "names",
		     name);
	return NULL;
}

const char *aside_dataset(struct arena *arena, const struct aside *aside)
{
	return arena_printf(arena, "%s/_diverged/%s", aside->member->host->dataset,
			    aside->volume->name);
}
