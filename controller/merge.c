/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Merging the lists of all agents into one in order of id, reading a page of each agent at a time.
 *
 * Invariant: a page contains the entries after an id, and the token is that id, so no state is kept
 * between pages. Entries that are created or deleted between two pages do not move the others.
 */
#include "controller/merge.h"

#include <string.h>

#include "common/volume/escape.h"
#include "common/log.h"

#define TOKEN_PREFIX "after:"
#define PAGE_MAX     1000 /* entries in one page of an agent */

/* The list of one agent. */
struct source {
	const struct host *host;
	const void *answer;
	size_t at;
	const void *entry; /* the entry number `at` of the answer; NULL at the end of the list */
	const char *id;
};

struct merge {
	struct rpc_call *call;
	const struct list_kind *kind;
	const struct filter *filter;
	int32_t page_max;
	struct source *sources;
	size_t n;
};

int merge_token(struct arena *arena, const struct list_kind *kind, const char *token,
		const char **ret, struct error *err)
{
	size_t prefix = strlen(TOKEN_PREFIX);

	*ret = "";
	if (!*token)
		return 0;
	if (strncmp(token, TOKEN_PREFIX, prefix) == 0)
		*ret = unescape_text(arena, token + prefix);
	if (!*ret || !**ret)
		return fail(err, ERR_ABORTED,
			    "starting_token '%s' was not returned by %s: start again without one",
			    token, kind->rpc);
	return 0;
}

static void go_to(const struct merge *merge, struct source *source, size_t at)
{
	source->at = at;
	source->entry = merge->kind->entry(source->answer, at, &source->id);
}

static void open_answer(const struct merge *merge, struct source *source, const void *answer)
{
	source->answer = answer;
	go_to(merge, source, 0);
}

/*
 * Handle an agent that did not answer: log it and return 0 if the list may be incomplete
 * (--partial-lists), else fail, because its entries would be missing.
 */
static int miss(const struct merge *merge, const struct agent *agent, const struct error *cause,
		struct error *err)
{
	enum error_code code =
		cause->code == ERR_FAILED_PRECONDITION ? ERR_FAILED_PRECONDITION : ERR_UNAVAILABLE;

	if (merge->filter->partial) {
		log_warn("list is incomplete", log_str("rpc", merge->kind->rpc),
			 log_str("without", agent_endpoint(agent)), log_str("error", cause->text));
		return 0;
	}
	return fail(err, code, "agent '%s' did not list its %s: %s", agent_endpoint(agent),
		    merge->kind->what, cause->text);
}

static const ProtobufCMessage *question(const struct merge *merge, const char *after)
{
	return merge->kind->ask(&merge->call->arena, merge->filter, after, merge->page_max);
}

static int read_page(const struct merge *merge, struct source *source, const char *after,
		     struct error *err)
{
	const struct agent *agent = source->host->agent;
	struct error cause;
	void *answer;

	if (agent_ask(merge->call, agent, merge->kind->method, question(merge, after), &answer,
		      &cause) < 0) {
		source->entry = NULL;
		return miss(merge, agent, &cause, err);
	}
	open_answer(merge, source, answer);
	return 0;
}

/* Request the first page of every agent at once, so that only the slowest agent counts. */
static int read_first_pages(struct merge *merge, const struct hosts *hosts, const char *after,
			    struct error *err)
{
	struct answers answers =
		agents_ask_all(merge->call, merge->kind->method, question(merge, after));

	merge->sources = arena_alloc(&merge->call->arena, hosts->n * sizeof(*merge->sources));
	for (size_t i = 0; i < answers.n; i++) {
		const struct answer *answer = &answers.list[i];
		const GetHostResponse *says = hosts->list[i].says;
		/* A host without a pool has no list. */
		if (says && !*says->dataset)
			continue;
		if (answer->error.code != ERR_OK || !says) {
			if (miss(merge, answer->agent, &answer->error, err) < 0)
				return -1;
			continue;
		}
		struct source *source = &merge->sources[merge->n++];
		source->host = &hosts->list[i];
		open_answer(merge, source, answer->response);
	}
	return 0;
}

static bool is_former(const struct merge *merge, const void *entry)
{
	return merge->kind->former && merge->kind->former(entry);
}

/*
 * *ret is the entry with the lowest id. If another host has the same id, and its entry is not a
 * former one (merge.h), ret->other_host is that host. Returns false at the end of all lists.
 */
static bool lowest(const struct merge *merge, struct listed *ret)
{
	*ret = (struct listed){0};
	for (size_t i = 0; i < merge->n; i++) {
		const struct source *source = &merge->sources[i];
		int order = source->entry && ret->id ? strcmp(source->id, ret->id) : -1;
		if (!source->entry || order > 0)
			continue;
		if (order == 0 && is_former(merge, source->entry))
			continue;
		if (order == 0 && !is_former(merge, ret->entry))
			ret->other_host = source->host;
		else
			*ret = (struct listed){
				.id = source->id, .entry = source->entry, .host = source->host};
	}
	return ret->id;
}

/* Move every list past this id, so that an id that exists twice is listed once. */
static int advance(const struct merge *merge, const char *id, struct error *err)
{
	for (size_t i = 0; i < merge->n; i++) {
		struct source *source = &merge->sources[i];
		if (!source->entry || strcmp(source->id, id) != 0)
			continue;
		go_to(merge, source, source->at + 1);
		if (!source->entry && merge->kind->more(source->answer) &&
		    read_page(merge, source, id, err) < 0)
			return -1;
	}
	return 0;
}

static void append(struct arena *arena, struct page *page, size_t *room, const struct listed *entry)
{
	if (page->n == *room) {
		*room = *room ? *room * 2 : 64;
		struct listed *grown = arena_alloc(arena, *room * sizeof(*grown));
		if (page->n)
			memcpy(grown, page->list, page->n * sizeof(*grown));
		page->list = grown;
	}
	page->list[page->n++] = *entry;
}

static int fill(const struct merge *merge, size_t max_entries, struct page *ret, struct error *err)
{
	struct arena *arena = &merge->call->arena;
	struct listed next;
	size_t room = 0;
	bool more;

	*ret = (struct page){.next_token = arena_strdup(arena, "")};
	while ((more = lowest(merge, &next)) && (!max_entries || ret->n < max_entries)) {
		append(arena, ret, &room, &next);
		if (advance(merge, next.id, err) < 0)
			return -1;
	}
	if (more)
		ret->next_token = arena_printf(arena, "%s%s", TOKEN_PREFIX,
					       escape_text(arena, ret->list[ret->n - 1].id));
	return 0;
}

int merge_page(struct rpc_call *call, const struct list_kind *kind, const struct filter *filter,
	       int32_t max_entries, const char *starting_token, struct page *ret, struct error *err)
{
	struct merge merge = {
		.call = call,
		.kind = kind,
		.filter = filter,
		.page_max = max_entries && max_entries < PAGE_MAX ? max_entries : PAGE_MAX,
	};
	struct hosts hosts;
	const char *after;

	if (max_entries < 0)
		return fail(err, ERR_INVALID_ARGUMENT, "max_entries %d is negative",
			    (int)max_entries);
	if (merge_token(&call->arena, kind, starting_token, &after, err) < 0)
		return -1;
	int asked = filter->partial ? hosts_some(call, &hosts, err) : hosts_all(call, &hosts, err);
	if (asked < 0 || read_first_pages(&merge, &hosts, after, err) < 0)
		return -1;
	return fill(&merge, (size_t)max_entries, ret, err);
}
