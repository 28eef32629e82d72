/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of what zcsi-host-volume reads of its environment: each variable, the JSON of the
 * parameters, and bytes at random instead of them.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "controller/host_volume/pairs.h"
#include "controller/host_volume/request.h"
#include "tests/arena.h"

#define ID     "02eb1d8e-945e-50ee-7640-68b92f622870"
#define ROUNDS 20000

static const char *const names[] = {
	"DHV_VOLUMES_DIR",        "DHV_CREATED_PATH",       "DHV_VOLUME_ID",  "DHV_VOLUME_NAME",
	"DHV_CAPACITY_MIN_BYTES", "DHV_CAPACITY_MAX_BYTES", "DHV_PARAMETERS",
};
static char *values[COUNT(names)];
static struct request request;
static struct error err;

static char *get(const char *name)
{
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return values[i];
	return NULL;
}

static void set(const char *name, const char *value)
{
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			values[i] = value ? arena_strdup(&arena, value) : NULL;
}

/* Set what Nomad sends for a volume without parameters. */
static void set_all(void)
{
	memset(values, 0, sizeof(values));
	set("DHV_VOLUMES_DIR", "/opt/nomad/data/host_volumes");
	set("DHV_VOLUME_ID", ID);
	set("DHV_VOLUME_NAME", "cache");
	set("DHV_CAPACITY_MIN_BYTES", "16777216");
	set("DHV_CAPACITY_MAX_BYTES", "0");
	set("DHV_PARAMETERS", "null");
}

static int parse(enum operation operation)
{
	err = (struct error){0};
	return request_parse(&arena, operation, get, &request, &err);
}

static void a_request_of_nomad_is_parsed(void **state)
{
	(void)state;
	set_all();
	assert_int_equal(parse(CREATE), 0);
	assert_string_equal(request.name, "cache-02eb1d8e");
	assert_string_equal(request.path, "/opt/nomad/data/host_volumes/" ID);
	assert_int_equal(request.range.required, 16 << 20);
	assert_string_equal(parameters_value(&arena, request.parameters.text, ID_PARAMETER), ID);
}

static void a_slash_at_the_end_of_the_folder_does_not_matter(void **state)
{
	(void)state;
	set_all();
	set("DHV_VOLUMES_DIR", "/opt/volumes//");
	assert_int_equal(parse(CREATE), 0);
	assert_string_equal(request.folder, "/opt/volumes");
	assert_string_equal(request.path, "/opt/volumes/" ID);
}

/* A creation ignores DHV_CREATED_PATH, which only a created volume has. */
static void a_creation_is_below_the_folder(void **state)
{
	(void)state;
	set_all();
	set("DHV_CREATED_PATH", "/elsewhere/" ID);
	assert_int_equal(parse(CREATE), 0);
	assert_string_equal(request.path, "/opt/nomad/data/host_volumes/" ID);
}

static void capacity_and_parameters_may_be_missing(void **state)
{
	(void)state;
	set_all();
	set("DHV_CAPACITY_MIN_BYTES", NULL);
	set("DHV_CAPACITY_MAX_BYTES", NULL);
	set("DHV_PARAMETERS", NULL);
	assert_int_equal(parse(CREATE), 0);
	assert_int_equal(request.range.required, 0);
	set("DHV_PARAMETERS", "");
	assert_int_equal(parse(CREATE), 0);
}

static void a_deletion_needs_the_id_alone(void **state)
{
	(void)state;
	memset(values, 0, sizeof(values));
	set("DHV_VOLUME_ID", ID);
	set("DHV_CREATED_PATH", "/elsewhere/" ID);
	set("DHV_PARAMETERS", "{");
	assert_int_equal(parse(DELETE), 0);
	assert_string_equal(request.path, "/elsewhere/" ID);
	assert_int_equal(parse(CREATE), -1);
}

/* DHV_CREATED_PATH ends with the id of the volume. Any other path is neither mounted on nor
 * removed. */
static void a_created_path_of_another_volume_is_not_used(void **state)
{
	static const char *const paths[] = {
		"/opt/nomad/data/host_volumes",
		"/",
		"",
		"relative/" ID,
		"/a/../" ID,
		"/a//" ID,
		"/" ID "/",
		"/a/" ID "x",
		ID,
	};

	(void)state;
	set_all();
	for (size_t i = 0; i < COUNT(paths); i++) {
		set("DHV_CREATED_PATH", paths[i]);
		assert_int_equal(parse(DELETE), 0);
		assert_string_equal(request.path, "/opt/nomad/data/host_volumes/" ID);
	}
}

static void wrong_variables_are_named(void **state)
{
	static const char *const cases[][3] = {
		{"DHV_VOLUME_ID", NULL, "DHV_VOLUME_ID"},
		{"DHV_VOLUME_ID", "", "DHV_VOLUME_ID"},
		{"DHV_VOLUME_ID", "../../../../../../../../../../etc/a.", "DHV_VOLUME_ID"},
		{"DHV_VOLUME_ID", "02EB1D8E-945e-50ee-7640-68b92f622870", "DHV_VOLUME_ID"},
		{"DHV_VOLUME_ID", ID "0", "DHV_VOLUME_ID"},
		{"DHV_VOLUMES_DIR", NULL, "host_volumes_dir"},
		{"DHV_VOLUMES_DIR", "", "host_volumes_dir"},
		{"DHV_VOLUMES_DIR", "/", "host_volumes_dir"},
		{"DHV_VOLUMES_DIR", "/a/./b", "host_volumes_dir"},
		{"DHV_VOLUMES_DIR", "/a/..", "host_volumes_dir"},
		{"DHV_VOLUME_NAME", NULL, "DHV_VOLUME_NAME is missing"},
		{"DHV_VOLUME_NAME", "a\x1b", "control character"},
		{"DHV_VOLUME_NAME", "a\xff", "UTF-8"},
		{"DHV_CAPACITY_MIN_BYTES", "16M", "DHV_CAPACITY_MIN_BYTES"},
		{"DHV_CAPACITY_MIN_BYTES", "-1", "DHV_CAPACITY_MIN_BYTES"},
		{"DHV_CAPACITY_MIN_BYTES", " 1", "DHV_CAPACITY_MIN_BYTES"},
		{"DHV_CAPACITY_MIN_BYTES", "9223372036854775808", "DHV_CAPACITY_MIN_BYTES"},
		{"DHV_CAPACITY_MIN_BYTES", "9223372036854775807", "largest volume"},
		{"DHV_CAPACITY_MAX_BYTES", "", "DHV_CAPACITY_MAX_BYTES"},
		{"DHV_CAPACITY_MAX_BYTES", "2097152", "less than required_bytes"},
		{"DHV_PARAMETERS", "{\"compression\": \"on\"}", "zfs.compression"},
		{"DHV_PARAMETERS", "{\"sync_every\": 5}", "DHV_PARAMETERS"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		set_all();
		set(cases[i][0], cases[i][1]);
		assert_int_equal(parse(CREATE), -1);
		assert_int_not_equal(err.code, ERR_OK);
		assert_non_null(strstr(err.text, cases[i][2]));
	}
}

static void a_long_name_is_refused_with_its_suffix(void **state)
{
	char name[121];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	set_all();
	set("DHV_VOLUME_NAME", name);
	assert_int_equal(parse(CREATE), -1);
	assert_non_null(strstr(err.text, "129 bytes"));
	set("DHV_VOLUME_NAME", name + 1);
	assert_int_equal(parse(CREATE), 0);
}

/* Tests of the JSON of the parameters. */

static void objects_are_sorted_and_unescaped(void **state)
{
	struct map map;

	(void)state;
	assert_int_equal(pairs_parse(&arena,
				     " {\"b\" : \"\\u003c\\\"\\\\\\n\\/\" ,\n\"a\":\"\\ud83d\\ude00"
				     "\\u00e9\\u20ac\u00fc\"} ",
				     &map, &err),
			 0);
	assert_int_equal(map.n, 2);
	assert_string_equal(map.pairs[0].key, "a");
	assert_string_equal(map.pairs[0].value, "\U0001f600\u00e9\u20ac\u00fc");
	assert_string_equal(map.pairs[1].value, "<\"\\\n/");
	assert_int_equal(pairs_parse(&arena, "null", &map, &err), 0);
	assert_int_equal(map.n, 0);
	assert_int_equal(pairs_parse(&arena, "{}", &map, &err), 0);
	assert_int_equal(map.n, 0);
}

static void anything_but_an_object_of_strings_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"nul",
		"nullx",
		"{}}",
		"{,}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1}",
		"{\"a\":null}",
		"{\"a\":{}}",
		"{\"a\":\"b\",}",
		"{\"a\":\"b\" \"c\":\"d\"}",
		"{\"a\":\"b\",\"a\":\"c\"}",
		"{\"a\":\"b",
		"{\"a\":\"b\\",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u00\"}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\\ud83d\"}",
		"{\"a\":\"\\ud83d\\u0041\"}",
		"{\"a\":\"\\ude00\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\xc3\"}",
	};
	struct map map;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(pairs_parse(&arena, texts[i], &map, &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, "at byte"));
	}
}

/* Returns a random text of words that the parser treats specially, and of any bytes. */
static char *random_text(struct arena *memory)
{
	static const char *const words[] = {"{",  "}",     "\"",     ":", ",",    "\\",   "\\u",
					    "d8", "00e9",  "null",   "/", "..",   "a",    ID,
					    "9",  "\"a\"", "\"b\":", " ", "\xff", "\xc3", "keep"};
	char *text = arena_strdup(memory, "");

	for (uint32_t n = arc4random_uniform(16); n > 0; n--) {
		const char byte[] = {(char)(1 + arc4random_uniform(255)), '\0'};
		uint32_t word = arc4random_uniform(COUNT(words) + 4);
		text = arena_printf(memory, "%s%s", text, word < COUNT(words) ? words[word] : byte);
	}
	return text;
}

static void check_accepted(void)
{
	size_t length = strlen(request.path);

	assert_true(length > strlen(ID) && *request.path == '/');
	assert_string_equal(&request.path[length - strlen(ID)], request.id);
	assert_null(strstr(request.path, "/../"));
	for (const char *at = request.name; *at;) {
		size_t n = utf8_sequence(at, strlen(at));
		assert_true(n > 0);
		at += n;
	}
}

/* For any values of the variables, the request is refused with an error text, or is safe to use. */
static void random_variables_are_refused_or_safe(void **state)
{
	size_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		auto_arena struct arena memory = {.cap = SIZE_MAX};
		struct map map;
		set_all();
		values[arc4random_uniform(COUNT(values))] = random_text(&memory);
		values[arc4random_uniform(COUNT(values))] = random_text(&memory);
		err = (struct error){0};
		if (request_parse(&memory, CREATE, get, &request, &err) == 0) {
			check_accepted();
			accepted++;
		} else {
			assert_true(*err.text && err.code != ERR_OK);
		}
		pairs_parse(&memory, random_text(&memory), &map, &err);
	}
	assert_in_range(accepted, 1, ROUNDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_of_nomad_is_parsed),
		cmocka_unit_test(a_slash_at_the_end_of_the_folder_does_not_matter),
		cmocka_unit_test(a_creation_is_below_the_folder),
		cmocka_unit_test(capacity_and_parameters_may_be_missing),
		cmocka_unit_test(a_deletion_needs_the_id_alone),
		cmocka_unit_test(a_created_path_of_another_volume_is_not_used),
		cmocka_unit_test(wrong_variables_are_named),
		cmocka_unit_test(a_long_name_is_refused_with_its_suffix),
		cmocka_unit_test(objects_are_sorted_and_unescaped),
		cmocka_unit_test(anything_but_an_object_of_strings_is_refused),
		cmocka_unit_test(random_variables_are_refused_or_safe),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
