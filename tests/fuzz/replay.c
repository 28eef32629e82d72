/* SPDX-License-Identifier: MPL-2.0 */
/*
 * replay FOLDER...: runs a fuzzer on the inputs in folders, for compilers without libFuzzer. If the
 * fuzzer crashes, the last line of the output names the input.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static char path[4096];

static void on_crash(void)
{
	static const char words[] = "the input was ";

	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	(void)!write(STDERR_FILENO, path, strlen(path));
	(void)!write(STDERR_FILENO, "\n", 1);
}

static void on_signal(int signum)
{
	on_crash();
	signal(signum, SIG_DFL);
	raise(signum);
}

static void install_handlers(void)
{
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_crash);
	else
		signal(SIGSEGV, on_signal);
	signal(SIGABRT, on_signal);
}

static int replay(void)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "re");

	if (!file)
		return -1;
	size_t n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	/* allocate exactly the input's size, so that a sanitizer detects reading beyond its end */
	auto_free uint8_t *input = mem_alloc(n);
	memcpy(input, bytes, n);
	LLVMFuzzerTestOneInput(input, n);
	return 0;
}

static int replay_folder(const char *folder, unsigned *n)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	int result = 0;

	if (!entries)
		return -1;
	while (result == 0 && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		result = replay();
		++*n;
	}
	closedir(entries);
	return result;
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	install_handlers();
	for (int i = 1; i < argc; i++) {
		if (replay_folder(argv[i], &n) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	/* print the format of cmocka, because the caller of the program counts such lines */
	printf("[  PASSED  ] %u test(s).\n", n);
	return n == 0;
}
