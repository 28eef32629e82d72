/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A call of each kind at the same time; see all_kinds.h. The stream sends its questions one after
 * the other, each after the answer to the previous one.
 */
#include "tests/transport/all_kinds.h"

#include <stdio.h>

#include "proto/agent.h"
#include "proto/reflection.h"

#define QUESTIONS 3
#define LARGE     20000 /* bytes of an answer */

/* The stream: a question is sent after each answer. */

static void ask_next(struct questions *questions)
{
	ServerReflectionRequest request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;

	if (questions->answers == QUESTIONS) {
		rpc_stream_finish(questions->stream, NULL);
		return;
	}
	request.message_request_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME;
	request.file_by_filename = (char *)(uintptr_t) "proto/agent.proto";
	rpc_stream_send(questions->stream, &request.base);
}

static void on_answer(struct rpc_stream *stream, const void *message)
{
	struct questions *questions = stream->arg;

	(void)message;
	questions->answers++;
	ask_next(questions);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct questions *questions = stream->arg;

	questions->outcome = *outcome;
	sem_post(&questions->closed);
}

struct beginning {
	struct questions *questions;
	struct client *client;
	int64_t deadline;
};

static void begin(void *arg)
{
	static const struct rpc_stream_events events = {.message = on_answer, .closed = on_closed};
	struct beginning *it = arg;

	it->questions->stream =
		client_stream_begin(it->client,
				    &grpc__reflection__v1__server_reflection__descriptor,
				    "ServerReflectionInfo", it->deadline, &events, it->questions);
	ask_next(it->questions);
}

void questions_begin(struct questions *questions, struct client *client, struct looper *looper,
		     int64_t deadline)
{
	struct beginning it = {questions, client, deadline};

	*questions = (struct questions){0};
	sem_init(&questions->closed, 0, 0);
	looper_do(looper, begin, &it);
}

enum error_code questions_end(struct questions *questions, struct error *err)
{
	wait_for(&questions->closed);
	*err = questions->outcome;
	if (err->code == ERR_OK && questions->answers != QUESTIONS)
		abort();
	return err->code;
}

/* Functions that begin and end all calls together. */

void all_kinds_begin(struct all_kinds *all, struct client *client, struct looper *looper,
		     int64_t deadline)
{
	arena_init(&all->arena, SIZE_MAX);
	GetDatasetRequest *get = new_get_dataset_request(&all->arena);
	ListDatasetsRequest *list = new_list_datasets_request(&all->arena);
	const struct {
		const char *method;
		const ProtobufCMessage *request;
	} unary[] = {{"GetHost", &new_get_host_request(&all->arena)->base},
		     {"GetDataset", &get->base},
		     {"ListDatasets", &list->base}};

	get->id = arena_strdup(&all->arena, "volume");
	list->max = LARGE;
	questions_begin(&all->questions, client, looper, deadline);
	for (size_t i = 0; i < COUNT(unary); i++)
		all->calls[i] = client_begin(client, &all->arena, &zcsi__v1__agent__descriptor,
					     unary[i].method, unary[i].request, deadline);
}

static void check(enum error_code code, const struct error *err)
{
	if (code == ERR_OK || *err->text)
		return;
	fprintf(stderr, "%s without an error text\n", error_name(code));
	abort();
}

void all_kinds_end(struct all_kinds *all, enum error_code ret_codes[ALL_KINDS])
{
	struct error err = {0};
	void *response;

	ret_codes[ALL_KINDS - 1] = questions_end(&all->questions, &err);
	check(ret_codes[ALL_KINDS - 1], &err);
	for (size_t i = 0; i < COUNT(all->calls); i++) {
		bool failed = client_finish(all->calls[i], &response, &err) < 0;
		ret_codes[i] = failed ? err.code : ERR_OK;
		check(ret_codes[i], &err);
	}
	arena_fini(&all->arena);
}
