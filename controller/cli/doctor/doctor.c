/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi doctor: all that is wrong in the cluster, the worst first, and the command that mends it. It
 * asks the agents alone, so it works while Nomad and all controllers are down.
 *
 * Invariant: nothing is changed. An agent that answers no call, or not all of them, is a finding,
 * so a page without findings means that all agents that were asked are well.
 */
#include "controller/cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "controller/cli/copies.h"
#include "controller/cli/known.h"

#define ROWS_MAX 10 /* findings of one part and level that are printed without -H or -o json */

void doctor_say(struct doctor *doctor, const struct finding *finding)
{
	struct finding *copy = arena_alloc(&doctor->cli->arena, sizeof(*copy));

	*copy = *finding;
	copy->part = doctor->part;
	copy->next = NULL;
	*doctor->end = copy;
	doctor->end = &copy->next;
}

bool doctor_list_is_complete(const struct doctor *doctor)
{
	const struct cli *cli = doctor->cli;
	bool all = true;

	for (size_t i = 0; i < cli->n_members; i++)
		all &= cli->members[i].error.code == ERR_OK && !*cli->members[i].host->problem;
	for (size_t i = 0; i < doctor->n_hosts; i++)
		all &= doctor->hosts[i]->forgotten || known_listed(cli, doctor->hosts[i]);
	return all;
}

bool doctor_has_volume(const struct doctor *doctor, const char *id)
{
	for (size_t i = 0; i < doctor->n_volumes; i++)
		if (strcmp(doctor->volumes[i].id, id) == 0)
			return true;
	for (size_t i = 0; i < doctor->n_moves; i++)
		if (doctor->moves[i].state->running && strcmp(doctor->moves[i].state->id, id) == 0)
			return true;
	return false;
}

static void ask(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;

	doctor->end = &doctor->findings;
	doctor->moves = move_list(cli, "", &doctor->n_moves);
	doctor->volumes = cli_volumes(cli, NULL, &doctor->n_volumes);
	doctor->pushes = copies_ask(cli, "");
	doctor->trash = cli_trashed(cli, NULL, &doctor->n_trash);
	doctor->hosts = known_hosts(cli, &doctor->n_hosts);
}

static void find_all(struct doctor *doctor)
{
	static void (*const parts[])(struct doctor *) = {doctor_certificates, doctor_nodes,
							 doctor_lost,         doctor_volumes,
							 doctor_members,      doctor_backups,
							 doctor_aside};

	for (size_t i = 0; i < COUNT(parts); i++) {
		doctor->part = (unsigned)i;
		parts[i](doctor);
	}
}

#define COLUMNS 5

static void fill(const struct finding *finding, struct cell cells[COLUMNS])
{
	static const char *const levels[] = {[DOCTOR_STOPS] = "stops",
					     [DOCTOR_MAY_STOP] = "may stop",
					     [DOCTOR_WAITS] = "waits",
					     [DOCTOR_NOTE] = "note"};

	cells[0].text = levels[finding->level];
	cells[1].text = finding->volume;
	cells[2].text = finding->node;
	cells[3].text = finding->text;
	cells[4].text = finding->type;
}

/* Fill in the findings of a level and part. Returns the number of rows. */
static size_t fill_part(struct doctor *doctor, enum doctor_level level, unsigned part,
			struct cell (*cells)[COLUMNS])
{
	const struct style *style = &doctor->cli->style;
	size_t n = 0, max = style->bare || style->json ? SIZE_MAX : ROWS_MAX, more = 0;

	for (const struct finding *each = doctor->findings; each; each = each->next) {
		if (each->level != level || each->part != part)
			continue;
		if (n < max)
			fill(each, cells[n++]);
		else
			more++;
	}
	if (more)
		fill(&(struct finding){.level = level,
				       .text = arena_printf(&doctor->cli->arena, "%zu more", more),
				       .type = "zcsi doctor -H"},
		     cells[n++]);
	return n;
}

static void print(struct doctor *doctor)
{
	static const struct column columns[COLUMNS] = {{"effect", CELL_TEXT},
						       {"volume", CELL_TEXT},
						       {"node", CELL_TEXT},
						       {"finding", CELL_TEXT},
						       {"type", CELL_TEXT}};
	struct cli *cli = doctor->cli;
	size_t most = 16, n = 0;

	for (const struct finding *each = doctor->findings; each; each = each->next) {
		cli->degraded |= each->level != DOCTOR_NOTE;
		most++;
	}
	struct cell(*cells)[COLUMNS] = arena_alloc(&cli->arena, most * sizeof(*cells));
	for (enum doctor_level level = DOCTOR_STOPS; level <= DOCTOR_NOTE; level++)
		for (unsigned part = 0; part <= doctor->part; part++)
			n += fill_part(doctor, level, part, cells + n);
	const struct table table = {"findings", columns, COLUMNS, *cells, n, false};
	if (n || cli->style.bare || cli->style.json)
		table_print(stdout, &table, &cli->style, NULL, 0);
	else
		puts("nothing is wrong");
}

int cli_doctor(struct cli *cli, struct error *err)
{
	struct doctor doctor = {.cli = cli};

	(void)err;
	ask(&doctor);
	find_all(&doctor);
	print(&doctor);
	return 0;
}
