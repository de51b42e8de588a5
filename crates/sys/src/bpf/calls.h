/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of calls.bpf.c and calls.rs share: fixed widths, units in the names. */
#ifndef PLIMSOLL_CALLS_H
#define PLIMSOLL_CALLS_H

/* Kinds of calls that a thread counts for itself at a time, by the low bits of their number. */
#define CALL_SLOTS 16
/* Kinds of calls of all processes together; what is beyond is counted for the task alone. */
#define CALLS_MAX (1 << 16)
/* Numbers of calls; what is above is one kind. */
#define CALL_NUMBERS 1024
/* Behind the numbers: whether calls were left out, as their program ran as another user. */
#define CALL_FOREIGN (2 * CALL_NUMBERS)
/* A call by the 32 bit interface, whose numbers are others. */
#define CALL_COMPAT 0x40000000u

/* Calls of one kind by one process. */
struct call_key {
	__u64 process_ns; /* process_key.start_ns */
	__u32 tgid;
	__u32 call; /* number, or'ed with CALL_COMPAT */
};

struct call_counts {
	__u64 calls;
	__u64 errors;
	__u64 time_ns; /* from entry to exit, asleep included */
};

#endif
