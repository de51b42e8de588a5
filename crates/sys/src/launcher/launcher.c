/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The launcher: parent and subreaper of the task's command, in as few pages as possible.
 *
 * A process inherits the resident-set peak of the image that it was forked from and that exec
 * replaced, so the image here must be tiny. It is freestanding: no C library, no heap, no thread.
 * It forks COMMAND, waits for every descendant, and tells the monitor, over a socket, what the
 * kernel accounted for them: RUSAGE_CHILDREN and its own /proc/self/io hold the whole waited-for
 * tree. It uses send and recv because these do not count in /proc/self/io; the few reads that do
 * are subtracted.
 *
 * argv: name, control fd, go fd, flags, signal mask (hex), library fd, path, COMMAND's argv...
 * The library, if it is not 0, is held open as long as the task may load it; the first variable of
 * the environment then is the one that names it, for a COMMAND that is told to go with it.
 * BUILT_IN is this within Plimsoll's own program, for where no file in memory can be executed.
 */
#include "launcher.h"

#if defined(__x86_64__)
#include "arch_x86_64.h"
#elif defined(__aarch64__)
#include "arch_aarch64.h"
#else
#error "no launcher for this architecture"
#endif

enum {
	SIG_CHLD = 17, SIG_KILL = 9, SIG_PIPE = 13,
	ERR_INTR = -4, ERR_AGAIN = -11, ERR_NOEXEC = -8, ERR_CONNRESET = -104,
	W_NOHANG = 1, W_UNTRACED = 2, W_EXITED = 4, W_CONTINUED = 8, W_NOWAIT = 0x01000000,
	W_ALL = 0x40000000, ANY_CHILD = 0, CODE_EXITED = 1, CODE_DUMPED = 3,
	MSG_NOSIGNAL_ONLY = 0x4000, MSG_DONTWAIT_ONLY = 0x40,
	PR_SUBREAPER = 36, PR_NAME = 15, CLOCK_BOOT = 7, POLL_IN = 1,
	AT_CWD = -100, SA_RESTORER_FLAG = 0x04000000, 
	RUSAGE_OF_CHILDREN = -1, FD_SET = 2,
};

struct sigaction_words {
	void *handler;
	unsigned long flags;
	void *restorer_or_mask; /* the restorer where the architecture has one */
	unsigned long mask;
};

static int control_fd;
static int library_fd;
static int flags;
static int main_pid;
static int main_ended;
static int main_status;
static int io_available;
static u64 main_faults = ~0ull;
static u64 reaped_total;
static u64 io_base[7];
static u64 own_read_bytes;
static u64 own_read_calls;
static char text[4096];

#define SYS0(nr) syscall6(nr, 0, 0, 0, 0, 0, 0)
#define SYS1(nr, a) syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(nr, a, b) syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(nr, a, b, c) syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(nr, a, b, c, d) syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(nr, a, b, c, d, e) \
	syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#include "filter.h"
#include "await.h"

#ifndef BUILT_IN
/* The compiler may call these even in freestanding code. */
void *memset(void *to, int byte, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		((volatile char *)to)[i] = (char)byte;
	return to;
}
#else
void *memset(void *to, int byte, unsigned long count);
#endif

static void leave(int status)
{
	for (;;)
		SYS1(NR_exit_group, status);
}

static u64 parse_number(const char *digits, int base)
{
	u64 value = 0;

	for (; *digits; digits++) {
		char c = *digits;
		if (c >= '0' && c <= '9')
			value = value * base + (u64)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			value = value * base + (u64)(c - 'a' + 10);
		else
			break;
	}
	return value;
}

static long read_file(const char *path)
{
	long fd = SYS4(NR_openat, AT_CWD, path, 02000000 /* O_CLOEXEC */, 0);
	long used = 0;

	if (fd < 0)
		return fd;
	for (;;) {
		long got = SYS3(NR_read, fd, text + used, (long)sizeof(text) - 1 - used);
		if (got == ERR_INTR)
			continue;
		own_read_calls++;
		if (got <= 0)
			break;
		own_read_bytes += (u64)got;
		used += got;
		if (used >= (long)sizeof(text) - 1)
			break;
	}
	SYS1(NR_close, fd);
	text[used] = 0;
	return used;
}

/* Fills the seven counters of /proc/self/io, in the order of the file. The reads that this makes
 * are not in the text that they return, so the caller subtracts the reads made before. */
static int read_io(u64 io[7])
{
	int field = 0;

	if (read_file("/proc/self/io") <= 0)
		return 0;
	for (const char *c = text; *c && field < 7; c++)
		if (*c == ':') {
			while (*c == ':' || *c == ' ')
				c++;
			io[field++] = parse_number(c, 10);
		}
	return field == 7;
}

static void fill_totals(struct message *message)
{
	struct timespec_words now = { 0, 0 };
	u64 calls = own_read_calls, bytes = own_read_bytes;

	SYS2(NR_clock_gettime, CLOCK_BOOT, &now);
	message->at_boot_ns = (u64)now.seconds * 1000000000ull + (u64)now.nanos;
	SYS2(NR_getrusage, RUSAGE_OF_CHILDREN, &message->children);
	message->reaped_total = reaped_total;
	message->io_valid = io_available && read_io(message->io);
	if (message->io_valid) {
		for (int i = 0; i < 7; i++)
			message->io[i] -= io_base[i];
		message->io[0] -= bytes;
		message->io[2] -= calls;
	}
	SYS2(NR_getrusage, 0, &message->self);
}

static void say(u32 kind, s32 pid, s32 status, int with_totals)
{
	struct message message;

	memset(&message, 0, sizeof(message));
	message.kind = kind;
	message.pid = pid;
	message.status = status;
	message.main_faults = main_faults;
	if (with_totals) {
		fill_totals(&message);
	} else {
		struct timespec_words now = { 0, 0 };
		SYS2(NR_clock_gettime, CLOCK_BOOT, &now);
		message.at_boot_ns = (u64)now.seconds * 1000000000ull + (u64)now.nanos;
	}
	while (SYS4(NR_sendto, control_fd, &message, sizeof(message), MSG_NOSIGNAL_ONLY) == ERR_INTR)
		;
}

static void on_child(int signal) { (void)signal; }

static void set_action(int signal, void *handler)
{
	struct sigaction_words action;

	memset(&action, 0, sizeof(action));
	action.handler = handler;
#if NEEDS_RESTORER
	action.flags = SA_RESTORER_FLAG;
	action.restorer_or_mask = (void *)restore_signal;
#endif
	SYS4(NR_rt_sigaction, signal, &action, 0, 8);
}

static void set_mask(u64 mask) { SYS4(NR_rt_sigprocmask, FD_SET, &mask, 0, 8); }

/* The environment with its first variable, which comes beside the others or in the place of the one
 * of its name. */
static char **with_library(char **environment)
{
	for (char **other = environment + 1; *other; other++) {
		int i = 0;

		while ((*other)[i] == environment[0][i] && (*other)[i] != '=')
			i++;
		if ((*other)[i] == '=' && environment[0][i] == '=') {
			*other = environment[0];
			return environment + 1;
		}
	}
	return environment;
}

static void answer(int go_fd, s32 number)
{
	while (SYS4(NR_sendto, go_fd, &number, sizeof(number), MSG_NOSIGNAL_ONLY) == ERR_INTR)
		;
}

/* In the child: the next word of the monitor; of a filter that came with it, it is done. */
static char hear_go(int go_fd)
{
	long got;

	do
		got = syscall6(NR_recvfrom, go_fd, (long)text, sizeof(text), 0, 0, 0);
	while (got == ERR_INTR);
	if (got < 1)
		return 0;
	if (text[0] == FILTER && got > FILTER_AT)
		answer(go_fd, install_filter(text + FILTER_AT, got - FILTER_AT));
	return text[0];
}

/* In the child: wait for the word to go, give every signal back as it was, become COMMAND. */
static void become(int go_fd, u64 mask, char **argv, char **environment)
{
	char go;
	long error;

	while ((go = hear_go(go_fd)) == FILTER)
		;
	if (go != GO && go != GO_WITH_LIBRARY)
		leave(125);
	if (library_fd)
		environment = go == GO_WITH_LIBRARY ? with_library(environment) : environment + 1;
	set_action(SIG_CHLD, flags & FLAG_CHLD_IGNORED ? (void *)1 : 0);
	set_action(SIG_PIPE, flags & FLAG_PIPE_IGNORED ? (void *)1 : 0);
	for (int fd = 0; fd < 3; fd++)
		if (flags & FLAG_STDIN_CLOSED << fd)
			SYS1(NR_close, fd);
	set_mask(mask);
	error = SYS3(NR_execve, argv[0], argv + 1, environment);
	if (error == ERR_NOEXEC) {
		/* A script without its first line: the shell runs it, as execvp(3) does. */
		argv[1] = argv[0];
		argv[0] = (char *)"/bin/sh";
		error = SYS3(NR_execve, argv[0], argv, environment);
	}
	set_mask(~0ull);
	answer(go_fd, (s32)-error);
	leave(127);
}

/* Fills path with /proc/PID/NAME; the kernel refuses leading zeros in a pid. */
static void proc_path(char *path, long pid, const char *name)
{
	char digits[12];
	int count = 0;

	for (; pid > 0 && count < 12; pid /= 10)
		digits[count++] = (char)('0' + pid % 10);
	for (const char *c = "/proc/"; *c; c++)
		*path++ = *c;
	while (count > 0)
		*path++ = digits[--count];
	while ((*path++ = *name++))
		;
}

/* COMMAND's process has ended and can still be read: what its children had, which it waited for, is
 * told apart from its own only here. */
static void read_main(void)
{
	char path[32];
	const char *end = 0;
	int field = 2; /* the last parenthesis closes the second field of the line */
	u64 faults = 0;

	proc_path(path, main_pid, "/stat");
	if (read_file(path) <= 0)
		return;
	for (const char *c = text; *c; c++)
		if (*c == ')')
			end = c;
	for (const char *c = end; c && *c; c++)
		if (*c == ' ' && (++field == 10 || field == 12))
			faults += parse_number(c + 1, 10);
	if (field > 12)
		main_faults = faults;
}

/* Waits for one child that changed its state, as wait4(2) does; COMMAND's process is read first. */
static long wait_one(s32 *status)
{
	int flags = W_UNTRACED | W_CONTINUED | W_ALL | W_NOHANG;
	s32 info[32];

	memset(info, 0, sizeof(info));
	long found = SYS5(NR_waitid, ANY_CHILD, 0, info, flags | W_EXITED | W_NOWAIT, 0);
	/* A filter of system calls may know only the older one. */
	if (found < 0 || info[4] == 0)
		return SYS4(NR_wait4, -1, status, flags, 0);
	if (info[4] == main_pid && info[2] >= CODE_EXITED && info[2] <= CODE_DUMPED)
		read_main();
	return SYS4(NR_wait4, info[4], status, flags, 0);
}

/* Waits for every child that changed its state; returns whether any child is left. */
static int reap(void)
{
	for (;;) {
		s32 status = 0;
		long pid = wait_one(&status);

		if (pid == ERR_INTR)
			continue;
		if (pid == 0)
			return 1;
		if (pid < 0)
			return 0;
		if ((status & 0xff) == 0x7f) {
			if (pid == main_pid)
				say(SAYS_STOPPED, main_pid, (status >> 8) & 0xff, 0);
		} else if (status == 0xffff) {
			if (pid == main_pid)
				say(SAYS_CONTINUED, main_pid, 0, 0);
		} else {
			reaped_total++;
			if (pid == main_pid) {
				main_ended = 1;
				main_status = status;
				say(SAYS_ENDED, main_pid, status, 1);
			}
		}
	}
}

/* Kills every child until none is left: as their subreaper we inherit their children in turn. */
static void end_tree(void)
{
	char path[64], name[40] = "/task/";
	long pid = SYS0(NR_getpid);
	struct timespec_words pause = { 0, 5000000 };

	proc_path(path, pid, "/children");
	for (int i = 6; (name[i] = path[i]); i++)
		;
	proc_path(path, pid, name);
	for (int round = 0; round < 20000; round++) {
		if (!main_ended)
			SYS2(NR_kill, main_pid, SIG_KILL);
		if (read_file(path) > 0)
			for (const char *c = text; *c;) {
				u64 child = parse_number(c, 10);
				/* A list longer than the buffer may end within a number. */
				while (*c >= '0' && *c <= '9')
					c++;
				if (child > 1 && *c)
					SYS2(NR_kill, (long)child, SIG_KILL);
				while (*c == ' ')
					c++;
			}
		if (!reap())
			return;
		await(0, &pause);
	}
}

/* The shell's view of a wait status. */
static int shell_status(int status)
{
	return status & 0x7f ? 128 + (status & 0x7f) : (status >> 8) & 0xff;
}

/* The monitor is gone: end the tree, or see the task through, and tell its status by ours. */
static void monitor_died(void)
{
	if (!(flags & FLAG_LEAVE))
		end_tree();
	while (!main_ended && reap())
		if (!main_ended)
			await(0, 0);
	leave(main_ended ? shell_status(main_status) : 125);
}

static void watch(void)
{
	int told_empty = 0;

	for (;;) {
		struct pollfd_words control = { control_fd, POLL_IN, 0 };
		int children = reap();

		if (!children && main_ended && !told_empty) {
			told_empty = 1;
			say(SAYS_EMPTY, 0, 0, 1);
		}
		if (!await(&control, 0))
			continue;
		char ask = 0;
		long got = syscall6(NR_recvfrom, control_fd, (long)&ask, 1, MSG_DONTWAIT_ONLY, 0, 0);
		/* A monitor that ended with words of ours unread resets the connection: its last word
		 * is behind that error, which comes once. */
		if (got == ERR_AGAIN || got == ERR_INTR || got == ERR_CONNRESET)
			continue;
		if (got <= 0)
			monitor_died();
		else if (ask == ASKS_TOTALS)
			say(SAYS_TOTALS, reap(), 0, 1);
		else if (ask == ASKS_EXIT)
			leave(0);
	}
}

static void close_between(int first, unsigned last)
{
	if ((unsigned)first > last)
		return;
	if (SYS3(NR_close_range, first, last, 0) < 0)
		for (int fd = first; fd < 1024 && (unsigned)fd <= last; fd++)
			SYS1(NR_close, fd);
}

/* Descriptors that only COMMAND should hold: a reader of our caller's pipe must see its end. */
static void close_inherited(void)
{
	int low = library_fd && library_fd < control_fd ? library_fd : control_fd;
	int high = library_fd > control_fd ? library_fd : control_fd;

	if (low > 0)
		close_between(0, (unsigned)low - 1);
	if (high > low + 1)
		close_between(low + 1, (unsigned)high - 1);
	close_between(high + 1, ~0u);
}

#ifdef BUILT_IN
#define start plimsoll_launcher_start
#endif
/* stack: argc and what the kernel puts behind it. */
__attribute__((used)) void start(long *stack)
{
	long argc = stack[0];
	char **argv = (char **)(stack + 1);
	char **environment = argv + argc + 1;

	if (argc < 8)
		leave(125);
	control_fd = (int)parse_number(argv[1], 10);
	int go_fd = (int)parse_number(argv[2], 10);
	flags = (int)parse_number(argv[3], 10);
	u64 mask = parse_number(argv[4], 16);
	library_fd = (int)parse_number(argv[5], 10);

	set_mask(~0ull);
	set_action(SIG_CHLD, (void *)on_child);
	SYS5(NR_prctl, PR_SUBREAPER, 1, 0, 0, 0);
	SYS5(NR_prctl, PR_NAME, "plim-launcher", 0, 0, 0);
	SYS3(NR_fcntl, control_fd, FD_SET, 1);
	SYS3(NR_fcntl, go_fd, FD_SET, 1);
	if (library_fd)
		SYS3(NR_fcntl, library_fd, FD_SET, 1);
	io_available = read_io(io_base);
	long pid = syscall6(NR_clone, CLONE_ARGS(SIG_CHLD));
	if (pid == 0)
		become(go_fd, mask, argv + 6, environment);
	if (pid < 0) {
		say(SAYS_FAILED, 0, (s32)-pid, 0);
		leave(125);
	}
	main_pid = (int)pid;
	/* SIGKILL to the caller's group leaves us to end the tree. In its session no group of ours would
	 * do: COMMAND's, if it is an orphaned one, would not be. */
	SYS0(NR_setsid);
	close_inherited();
	say(SAYS_READY, main_pid, 0, 0);
	watch();
}
