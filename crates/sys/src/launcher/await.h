/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Waiting without end. A part of launcher.c. */
#ifndef PLIMSOLL_AWAIT_H
#define PLIMSOLL_AWAIT_H

struct timespec_words { s64 seconds, nanos; };
struct pollfd_words { s32 fd; short events, revents; };

/*
 * Waits until a child changed its state, `what` (or nothing) can be read, or `most` (or nothing) is
 * over; returns whether it may be read. Where a filter of system calls refuses that, it is looked
 * at again and again, and never without a pause.
 */
static int await(struct pollfd_words *what, const struct timespec_words *most)
{
	u64 all_but_child = ~(1ull << (SIG_CHLD - 1));
	struct timespec_words pause = { 0, 5000000 };
	long ready = SYS5(NR_ppoll, what, what != 0, most, &all_but_child, 8);

	if (ready >= 0 || ready == ERR_INTR)
		return ready > 0;
	if (SYS2(NR_nanosleep, &pause, 0) < 0 &&
	    SYS4(NR_clock_nanosleep, CLOCK_BOOT, 0, &pause, 0) < 0)
		SYS0(NR_sched_yield);
	return 1;
}

#endif
