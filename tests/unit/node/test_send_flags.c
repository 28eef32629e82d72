/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of what a stream has: send_is_empty, and send_differs with a program that prints one. */
#include "node/zfs/send_flags.h"

#include <string.h>

#include "common/exec.h"
#include "common/mem.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"

#define RECORD 312

enum { BEGIN, OBJECT, FREEOBJECTS, WRITE, FREE, END };

static char stream[8 * RECORD];
static size_t length;

static void add(uint32_t type, uint32_t payload)
{
	assert_true(length + RECORD + payload <= sizeof(stream));
	memset(stream + length, 0xff, RECORD + payload);
	memcpy(stream + length, &type, sizeof(type));
	memcpy(stream + length + sizeof(type), &payload, sizeof(payload));
	length += RECORD + payload;
}

static void begin(uint32_t payload)
{
	length = 0;
	add(BEGIN, payload);
}

static void a_begin_and_an_end_are_no_difference(void **state)
{
	(void)state;
	begin(0);
	add(END, 0);
	assert_true(send_is_empty(stream, length));
	/* The begin of some streams has a list of names and values. */
	begin(888);
	add(END, 0);
	assert_true(send_is_empty(stream, length));
}

static void each_other_record_is_a_difference(void **state)
{
	static const uint32_t others[] = {OBJECT, FREEOBJECTS, WRITE, FREE, 7, 8, 9, 10};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		begin(0);
		add(others[i], 0);
		add(END, 0);
		assert_false(send_is_empty(stream, length));
	}
}

static void half_a_stream_is_a_difference(void **state)
{
	(void)state;
	assert_false(send_is_empty(stream, 0));
	begin(0);
	assert_false(send_is_empty(stream, length));
	add(END, 0);
	assert_false(send_is_empty(stream, length - 1));
	begin(888);
	add(END, 0);
	assert_false(send_is_empty(stream, length - 888));
	begin(0);
	add(FREE, 0);
	assert_false(send_is_empty(stream, length));
	length = 0;
	add(END, 0);
	add(END, 0);
	assert_false(send_is_empty(stream, length));
}

/* The program: its exit status, and true if it prints more than may be. */
static int status;
static bool is_long;

typeof(exec_run) __wrap_exec_run;

int __wrap_exec_run(const struct exec *exec, struct exec_result *ret, struct error *err)
{
	*ret = (struct exec_result){.status = status};
	*exec->ret_length = is_long ? exec->max_output + 1 : length;
	if (is_long)
		return fail(err, ERR_INTERNAL, "'zfs' printed too much and was stopped");
	ret->out = mem_alloc(length + 1);
	memcpy(ret->out, stream, length);
	ret->error = mem_strdup(status ? "cannot open 't/v': dataset does not exist" : "");
	return 0;
}

static void a_volume_differs_if_its_stream_has_anything(void **state)
{
	bool differs;
	struct error err;

	(void)state;
	begin(0);
	add(END, 0);
	assert_int_equal(send_differs("t/v@a", "t/v", &differs, &err), 0);
	assert_false(differs);
	begin(0);
	add(OBJECT, 0);
	add(END, 0);
	assert_int_equal(send_differs("t/v@a", "t/v", &differs, &err), 0);
	assert_true(differs);
	is_long = true;
	assert_int_equal(send_differs("t/v@a", "t/v", &differs, &err), 0);
	assert_true(differs);
	is_long = false;
}

/* A stream that ends in an error has no end, but the error counts whatever the stream has. */
static void a_stream_that_fails_decides_nothing(void **state)
{
	bool differs;
	struct error err;

	(void)state;
	begin(0);
	status = 1;
	assert_int_equal(send_differs("t/v@a", "t/v", &differs, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	add(END, 0);
	assert_int_equal(send_differs("t/v@a", "t/v", &differs, &err), -1);
	status = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_begin_and_an_end_are_no_difference),
		cmocka_unit_test(each_other_record_is_a_difference),
		cmocka_unit_test(half_a_stream_is_a_difference),
		cmocka_unit_test(a_volume_differs_if_its_stream_has_anything),
		cmocka_unit_test(a_stream_that_fails_decides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
