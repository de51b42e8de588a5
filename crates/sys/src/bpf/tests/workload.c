/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Programs of known use: threads N SPIN_MS | fill MIB | hold MIB | fork N | vanish N |
 * nocldwait N | ring | map FILE | group. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t all;
static long spin_ms;

static void *spin(void *unused)
{
	struct timespec now;

	pthread_barrier_wait(&all);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < spin_ms);
	return unused;
}

static int threads(long count)
{
	pthread_t thread[256];

	pthread_barrier_init(&all, NULL, count);
	for (long i = 1; i < count && i < 256; i++)
		pthread_create(&thread[i], NULL, spin, NULL);
	spin(NULL);
	for (long i = 1; i < count && i < 256; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int fill(long mib)
{
	char *at = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memset(at, 1, mib << 20);
	munmap(at, mib << 20);
	raise(SIGKILL);
	return 1;
}

static char *held;
static long held_bytes;

static void *fill_part(void *part)
{
	memset(held + (long)part * held_bytes / 8, 1, held_bytes / 8);
	return NULL;
}

/* Fills memory from eight threads and keeps it until it is killed. */
static int hold(long mib)
{
	pthread_t thread[8];

	held_bytes = mib << 20;
	held = mmap(NULL, held_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (held == MAP_FAILED)
		return 1;
	madvise(held, held_bytes, MADV_NOHUGEPAGE);
	for (long i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, fill_part, (void *)i);
	for (long i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	for (;;)
		pause();
}

/* Makes an io_uring; 3 if that is not allowed here. */
static int ring(void)
{
	char parameters[120] = {0};

	return syscall(425, 2, parameters) < 0 ? 3 : 0;
}

static int fork_all(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(7);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

/* Children for which nobody can wait, if SIGCHLD is ignored or taken like this. */
static int vanish(long count, int flags)
{
	struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = flags};

	if (flags)
		sigaction(SIGCHLD, &action, NULL);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(7);
		if (pid < 0 || waitpid(pid, NULL, 0) != -1)
			return 1;
	}
	return 0;
}

/* Holds the pages of a file of a MiB, and does no more. */
static int map(const char *path)
{
	int file = open(path, O_RDWR);
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		return 1;
	memset(at, 1, 1 << 20);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Tells its child, and makes it a group of its own with the next line that comes. */
static int group(void)
{
	char line[8];
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	printf("%d\n", child);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || setpgid(child, child))
		return 1;
	puts("done");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin))
		return 1;
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) != child;
}

int main(int argc, char **argv)
{
	long number = argc > 2 ? atol(argv[2]) : 0;

	spin_ms = argc > 3 ? atol(argv[3]) : 0;
	if (argc > 2 && !strcmp(argv[1], "threads"))
		return threads(number);
	if (argc > 2 && !strcmp(argv[1], "fill"))
		return fill(number);
	if (argc > 2 && !strcmp(argv[1], "fork"))
		return fork_all(number);
	if (argc > 2 && !strcmp(argv[1], "vanish"))
		return vanish(number, 0);
	if (argc > 2 && !strcmp(argv[1], "nocldwait"))
		return vanish(number, SA_NOCLDWAIT);
	if (argc > 2 && !strcmp(argv[1], "hold"))
		return hold(number);
	if (argc > 2 && !strcmp(argv[1], "map"))
		return map(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "group"))
		return group();
	if (argc > 1 && !strcmp(argv[1], "ring"))
		return ring();
	return 2;
}
