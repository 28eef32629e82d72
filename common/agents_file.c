/* SPDX-License-Identifier: MPL-2.0 */
/*
 * --agents-file: parsing it, and deciding when to read it.
 *
 * inotify watches the directory of the file, because a rename or a new link creates another inode
 * under the same name. A link in the path may be switched in another directory, which inotify does
 * not report, so stat(2) is called too. Invariant: after the first reading, a file that is still
 * being written is not read. It is read after the writer closed it, after it was renamed to this
 * name, after a link was switched, or REST_SECONDS after the last write.
 */
#include "common/agents_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"

#define SPACE        " \t\r\n\f\v"
#define SIZE_OF_FILE ((size_t)4 << 20)
#define REST_SECONDS 2

struct agents_file {
	const char *path;
	int fd;
	struct stat read; /* stat(2) of the file when it was last read; zero before that */
};

static void append(struct option_list *list, const char *word)
{
	list->values = mem_resize(list->values, (list->n + 1) * sizeof(*list->values));
	list->values[list->n++] = word;
}

struct option_list agents_file_parse(char *text)
{
	struct option_list list = {.n = 0};
	char *line_state, *word_state;

	for (char *line = strtok_r(text, "\n", &line_state); line;
	     line = strtok_r(NULL, "\n", &line_state)) {
		line[strcspn(line, "#")] = '\0';
		for (char *word = strtok_r(line, SPACE, &word_state); word;
		     word = strtok_r(NULL, SPACE, &word_state))
			append(&list, word);
	}
	return list;
}

int agents_file_watch(struct agents_file **ret, const char *path, struct error *err)
{
	auto_close int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	auto_free char *folder = mem_strdup(path);
	char *slash = strrchr(folder, '/');

	if (slash)
		slash[1] = '\0';
	if (fd < 0 || inotify_add_watch(fd, slash ? folder : ".",
					IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE) < 0)
		return fail_errno(err, "--agents-file '%s' cannot be watched", path);
	*ret = mem_alloc(sizeof(**ret));
	**ret = (struct agents_file){.path = path, .fd = steal_fd(&fd)};
	return 0;
}

void agents_file_free(struct agents_file *file)
{
	if (!file)
		return;
	close(file->fd);
	free(file);
}

int agents_file_fd(const struct agents_file *file)
{
	return file->fd;
}

/* Read all pending events. Returns true if the file of that name was closed or moved there. */
static bool drain(int fd, const char *name)
{
	_Alignas(struct inotify_event) char bytes[4096];
	bool whole = false;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (char *at = bytes; at < bytes + n;) {
			const struct inotify_event *event = (const void *)at;
			whole |= (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) && event->len &&
				 strcmp(event->name, name) == 0;
			at += sizeof(*event) + event->len;
		}
	}
	return whole;
}

static bool is_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return is_file(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool agents_file_changed(struct agents_file *file)
{
	const char *slash = strrchr(file->path, '/');
	bool whole = drain(file->fd, slash ? slash + 1 : file->path);
	struct stat link, now;

	if (stat(file->path, &now) < 0 || is_same(&now, &file->read))
		return false;
	bool is_link = lstat(file->path, &link) == 0 && S_ISLNK(link.st_mode);
	bool first = file->read.st_nlink == 0;
	return first || whole || (is_link && !is_file(&now, &file->read)) ||
	       time(NULL) - now.st_mtim.tv_sec >= REST_SECONDS;
}

static int slurp(FILE *in, char **ret, const char *path, struct error *err)
{
	auto_free char *text = mem_alloc(SIZE_OF_FILE + 1);
	size_t n = fread(text, 1, SIZE_OF_FILE + 1, in);

	if (ferror(in))
		return fail_errno(err, "--agents-file '%s' cannot be read", path);
	if (n > SIZE_OF_FILE)
		return fail(err, ERR_OUT_OF_RANGE, "--agents-file '%s' has more than %zu bytes",
			    path, SIZE_OF_FILE);
	if (memchr(text, '\0', n))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--agents-file '%s' has a NUL byte: it is "
			    "not a text file",
			    path);
	*ret = mem_resize(steal_ptr(text), n + 1);
	return 0;
}

static char *load(const char *path, struct stat *ret_stat, struct error *err)
{
	auto_fclose FILE *in = fopen(path, "re");
	char *text = NULL;

	if (!in || fstat(fileno(in), ret_stat) < 0)
		fail_errno(err, "--agents-file '%s' cannot be read", path);
	else
		slurp(in, &text, path, err);
	return text;
}

char *agents_file_read(struct agents_file *file, struct error *err)
{
	return load(file->path, &file->read, err);
}

char *agents_file_load(const char *path, struct error *err)
{
	struct stat ignored;

	return load(path, &ignored, err);
}
