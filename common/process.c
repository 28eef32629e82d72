/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Metrics of this process from /proc: time, memory, descriptors, threads.
 *
 * Invariant: no function here blocks, or keeps memory that it allocates. A value that cannot be
 * read is written as 0.
 */
#include "common/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/metrics.h"

static const struct metric build = METRIC(GAUGE, "zcsi_build_info", "Always 1.", "version");

enum { STARTED, CPU, RESIDENT, VIRTUAL, THREADS, OPEN_FDS, MAX_FDS };

static const struct metric metrics[] = {
	[STARTED] = METRIC(GAUGE, "process_start_time_seconds",
			   "When the process started, in seconds since 1970."),
	[CPU] = METRIC(COUNTER, "process_cpu_seconds_total",
		       "Processor time of user and system, without that of children."),
	[RESIDENT] = METRIC(GAUGE, "process_resident_memory_bytes", "Memory that is in RAM."),
	[VIRTUAL] = METRIC(GAUGE, "process_virtual_memory_bytes", "Address space."),
	[THREADS] = METRIC(GAUGE, "process_threads", "Threads."),
	[OPEN_FDS] = METRIC(GAUGE, "process_open_fds", "Open file descriptors."),
	[MAX_FDS] = METRIC(GAUGE, "process_max_fds", "The limit of open file descriptors."),
};

static double cpu_seconds(void)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static bool read_line(const char *path, char *line, int size)
{
	auto_fclose FILE *file = fopen(path, "re");

	return file && fgets(line, size, file);
}

/*
 * Read fields 20, 23 and 24 of /proc/self/stat (proc(5)). They are searched after the last ')',
 * because the program's name before it may contain any characters.
 */
static void read_stat(double *values)
{
	char line[1024];
	long threads, pages;
	unsigned long virtual;

	if (!read_line("/proc/self/stat", line, sizeof(line)))
		return;
	const char *rest = strrchr(line, ')');
	if (!rest || sscanf(rest,
			    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
			    "%*d %*d %ld %*d %*u %lu %ld",
			    &threads, &virtual, &pages) != 3)
		return;
	values[THREADS] = (double)threads;
	values[VIRTUAL] = (double)virtual;
	values[RESIDENT] = (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Returns the number of open descriptors, without the one that reads the directory; 0 on error. */
static double open_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	double n = -1;

	if (!folder)
		return 0;
	for (const struct dirent *entry; (entry = readdir(folder));)
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n;
}

static double max_fds(void)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return (double)limit.rlim_cur;
}

void process_metrics(FILE *out, time_t started)
{
	double values[COUNT(metrics)] = {[STARTED] = (double)started,
					 [CPU] = cpu_seconds(),
					 [OPEN_FDS] = open_fds(),
					 [MAX_FDS] = max_fds()};

	read_stat(values);
	metric_head(&build, out);
	metric_sample(&build, out, 1, ZCSI_VERSION);
	for (size_t i = 0; i < COUNT(metrics); i++) {
		metric_head(&metrics[i], out);
		metric_sample(&metrics[i], out, values[i]);
	}
}
