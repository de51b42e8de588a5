/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the launcher and the monitor say to each other; the Rust twin is ../launcher.rs. */
#ifndef PLIMSOLL_LAUNCHER_H
#define PLIMSOLL_LAUNCHER_H

typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

/* Launcher to monitor. */
enum {
	SAYS_READY = 1,     /* COMMAND's process exists and waits; pid */
	SAYS_STOPPED = 2,   /* COMMAND was stopped; status = signal */
	SAYS_CONTINUED = 3, /* COMMAND goes on */
	SAYS_ENDED = 4,     /* COMMAND ended; status = wait status, totals are filled */
	SAYS_TOTALS = 5,    /* answer to ASKS_TOTALS; pid = 1 while there are children, else 0 */
	SAYS_EMPTY = 6,     /* the last child was waited for after COMMAND had ended */
	SAYS_FAILED = 7,    /* the launcher could not fork; status = errno */
};

/* Monitor to launcher: one byte. */
enum {
	ASKS_TOTALS = 'T',
	ASKS_EXIT = 'X',
};

/* Monitor to COMMAND's process: one byte, of FILTER and its program FILTER_AT bytes. */
enum {
	GO = 'G',
	GO_WITH_LIBRARY = 'L',
	FILTER = 'F', /* answered by a number: FILTER_..., or an error number below zero */
	FILTER_AT = 8,
};

enum {
	FILTER_INSTALLED = 0,
	FILTER_WITHOUT_PRIVILEGES = 1, /* for which it had to give up new ones (no_new_privs) */
};

/* Flags in argv[3]. */
enum {
	FLAG_LEAVE = 1,         /* when the monitor dies, leave the task alone */
	FLAG_CHLD_IGNORED = 2,  /* SIGCHLD was ignored when plimsoll was started */
	FLAG_PIPE_IGNORED = 4,  /* SIGPIPE was ignored when plimsoll was started */
	FLAG_STDIN_CLOSED = 8,  /* descriptor 0 was closed then; 16 and 32: 1 and 2 */
};

/* struct rusage of a 64-bit kernel: 2 timevals and 14 longs. */
struct rusage_words {
	s64 word[18];
};

struct message {
	u32 kind;
	s32 pid;
	s32 status;
	u32 io_valid;        /* whether io[] could be read */
	u64 at_boot_ns;      /* CLOCK_BOOTTIME */
	u64 reaped_total;    /* children waited for */
	/* rchar wchar syscr syscw read write cancelled bytes, of waited-for descendants */
	u64 io[7];
	struct rusage_words children; /* RUSAGE_CHILDREN */
	struct rusage_words self;     /* RUSAGE_SELF: the launcher's own cost */
	u64 main_faults;     /* SAYS_ENDED: page faults of COMMAND's process itself; all ones: unknown */
};

_Static_assert(sizeof(struct message) == 384, "launcher.rs decodes 384 bytes");

#endif
