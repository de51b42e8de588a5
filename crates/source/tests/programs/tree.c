/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Process trees whose numbers are known by construction. Usage: tree SHAPE [N] */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(16)));
static pthread_barrier_t barrier;

static void wait_all(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

/* N children, two at a time, each gone at once. */
static int storm(int n)
{
	int alive = 0;
	for (int i = 0; i < n; i++) {
		if (alive == 2) {
			wait(NULL);
			alive--;
		}
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(0);
		alive++;
	}
	wait_all();
	return 0;
}

/* N children that run another program. */
static int programs(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

static void *meet(void *unused)
{
	pthread_barrier_wait(&barrier);
	return unused;
}

/* N threads beside the main one, all alive at one instant. */
static int threads(int n)
{
	pthread_t *made = calloc(n, sizeof(*made));
	pthread_barrier_init(&barrier, NULL, n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&made[i], NULL, meet, NULL))
			return 1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n; i++)
		pthread_join(made[i], NULL);
	return 0;
}

/* A grandchild in its own session that outlives its parent; the main process waits for its end. */
static int daemonise(void)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		return 1;
	if (fork() == 0) {
		close(ends[0]);
		setsid();
		if (fork() == 0) {
			usleep(50000);
			_exit(4);
		}
		_exit(0);
	}
	close(ends[1]);
	wait(NULL);
	while (read(ends[0], &byte, 1) > 0)
		;
	return 0;
}

static int child(void *unused)
{
	(void)unused;
	usleep(20000);
	return 5;
}

/* A sibling: its parent is our parent. */
static int sibling(void)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		return 1;
	if (clone(child, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, NULL) < 0)
		return 1;
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	return 0;
}

static void *run_true(void *unused)
{
	execl("/bin/true", "true", (char *)NULL);
	return unused;
}

/* An exec from a thread that is not the main one. */
static int thread_exec(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run_true, NULL);
	for (;;)
		pause();
	return 1;
}

static void *end_late(void *unused)
{
	(void)unused;
	usleep(30000);
	exit(6);
}

/* The main thread ends first; the other one decides the status. */
static int zombie_leader(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, end_late, NULL);
	pthread_exit(NULL);
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* A child with threads that SIGKILL ends. */
static int killed(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, sleep_on, NULL);
		kill(getpid(), SIGKILL);
		pause();
	}
	int status;
	waitpid(pid, &status, 0);
	return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A child that stops itself; the parent must see the stop and the continuation. */
static int stopped(void)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(7);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return 1;
	kill(pid, SIGCONT);
	if (waitpid(pid, &status, WCONTINUED) != pid)
		return 2;
	if (WIFCONTINUED(status) && waitpid(pid, &status, 0) != pid)
		return 3;
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 4;
}

/* N MiB touched, then read from a file of known size in 4 KiB calls. */
static int fill(int n)
{
	size_t size = (size_t)n << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static char page[4096];
	memset(memory, 1, size);
	int zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 256; i++)
		if (read(zero, page, sizeof(page)) != sizeof(page))
			return 1;
	return 0;
}

/* A handler must run once for each signal sent. */
static volatile int caught;
static void count(int signal)
{
	(void)signal;
	caught++;
}

static int signals(int n)
{
	signal(SIGUSR1, count);
	for (int i = 0; i < n; i++)
		raise(SIGUSR1);
	return caught != n;
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(shape, "storm"))
		return storm(n);
	if (!strcmp(shape, "programs"))
		return programs(n);
	if (!strcmp(shape, "threads"))
		return threads(n);
	if (!strcmp(shape, "daemon"))
		return daemonise();
	if (!strcmp(shape, "sibling"))
		return sibling();
	if (!strcmp(shape, "thread_exec"))
		return thread_exec();
	if (!strcmp(shape, "zombie_leader"))
		return zombie_leader();
	if (!strcmp(shape, "killed"))
		return killed();
	if (!strcmp(shape, "stopped"))
		return stopped();
	if (!strcmp(shape, "fill"))
		return fill(n);
	if (!strcmp(shape, "signals"))
		return signals(n);
	if (!strcmp(shape, "status"))
		return n;
	return 64;
}
