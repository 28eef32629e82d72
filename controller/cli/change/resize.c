/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi resize: a larger volume, as ControllerExpandVolume makes it larger, also while it is used.
 *
 * Invariant: no volume gets smaller, and all is checked before the agent is asked to change it.
 */
#include "controller/cli/dry_run.h"

#include "controller/request/capacity_range.h"
#include "controller/cli/adopt.h"
#include "controller/cli/print/amount.h"

static char *bytes(struct cli *cli, int64_t size)
{
	return amount_bytes(&cli->arena, (uint64_t)size);
}

/* Round *size up to a size that the volume's format allows, and check that nothing shrinks. */
static int check_size(struct cli *cli, const Dataset *volume, int64_t *size, struct error *err)
{
	const struct format *format = format_find(volume->format);
	struct capacity_range range = {.required = *size};

	if (!volume->size)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has no size: it may use all space of its pool",
			    volume->id);
	if (format && capacity_range_take_format(&range, format, err) < 0)
		return -1;
	*size = range.required;
	if (*size >= volume->size)
		return 0;
	return fail(err, ERR_OUT_OF_RANGE,
		    "volume '%s' has %s, and volumes never shrink: create a volume of %s, copy the "
		    "data to it, and delete this one",
		    volume->id, bytes(cli, volume->size), bytes(cli, *size));
}

/* Returns whether the ext4 or XFS of a zvol has grown, as text; NULL for all other formats. */
static const char *filesystem_of(const Dataset *volume, const ResizeDatasetResponse *response)
{
	const struct format *format = format_find(volume->format);

	if (!format || !format->zvol || !format->mounts)
		return NULL;
	return response->filesystem_grown ? "grown" : "grows when the volume is used next";
}

static void print(struct cli *cli, const struct owned *owned, const ResizeDatasetResponse *response)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},       {"was", CELL_BYTES},
		{"size", CELL_BYTES},  {"filesystem", CELL_TEXT},
	};
	const Dataset *before = owned->entry, *now = response->dataset;
	const struct cell row[] = {
		{.text = before->id},
		{.text = owned->owner->node},
		{.number = before->size},
		{.number = now ? now->size : -1},
		{.text = filesystem_of(before, response)},
	};
	const struct table table = {"volume", columns, COUNT(columns), row, 1, true};

	table_print(stdout, &table, &cli->style, NULL, 0);
}

/* Returns the sentence for --dry-run. */
static const char *text_of(struct cli *cli, const struct owned *owned, int64_t size)
{
	const Dataset *volume = owned->entry;

	if (size == volume->size)
		return arena_printf(&cli->arena, "leave volume '%s' on node '%s' at %s", volume->id,
				    owned->owner->node, bytes(cli, size));
	return arena_printf(&cli->arena, "resize volume '%s' on node '%s' from %s to %s",
			    volume->id, owned->owner->node, bytes(cli, volume->size),
			    bytes(cli, size));
}

int cli_resize(struct cli *cli, struct error *err)
{
	ResizeDatasetRequest *request = new_resize_dataset_request(&cli->arena);
	const struct owned *owned;

	if (making_size("size", cli->args[1], &request->size, err) < 0 ||
	    cli_volume(cli, cli->args[0], &owned, err) < 0 ||
	    check_size(cli, owned->entry, &request->size, err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	request->filesystem = true;
	const struct change change = {owned->owner, "ResizeDataset", &request->base,
				      text_of(cli, owned, request->size)};
	ResizeDatasetResponse *response;
	int asked = dry_run_or_ask(cli, &change, &response, err);
	if (asked > 0)
		print(cli, owned, response);
	return asked < 0 ? -1 : 0;
}
