/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What walk.bpf.c and walk.rs share: fixed widths, units in the names. */
#ifndef PLIMSOLL_WALK_H
#define PLIMSOLL_WALK_H

#include "task.h"

/* Further up than this nobody looks for the root. */
#define ANCESTORS_MAX 128

struct walked_io {
	__u64 rchar_bytes;
	__u64 wchar_bytes;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

#define WALKED_MEMORY 1u
#define WALKED_IO_URING 2u
#define WALKED_SIGCHLD_IGNORED 4u
/* Whether it is below the root is not known. */
#define WALKED_TOO_DEEP 8u
/* Of the whole process: all its threads are in, whoever has ended too. */
#define WALKED_WHOLE 16u
/* A thread that ended meanwhile may be in twice. */
#define WALKED_TORN 32u
/* As its record of the last pass was: of this one only pid, tgid and start are set. */
#define WALKED_SAME 64u

/*
 * One living thread. That of a leader (pid == tgid) holds its process's ended threads as well, and
 * its memory; where the leader has ended before the others, each of these holds that.
 */
struct walked {
	__u32 tgid;
	__u32 pid;
	__u32 parent_tgid;
	__u32 state; /* __state | exit_state */
	__u32 threads; /* of the process, leaders only */
	__u32 flags;
	__u32 group; /* leaders only, as session */
	__u32 session;
	__u64 start_ns; /* CLOCK_BOOTTIME, of the thread */
	__u64 cpu_ns;
	__u64 cpu_user_ns;
	__u64 cpu_system_ns;
	__u64 cpu_guest_ns;
	__u64 run_delay_ns; /* ended threads out */
	__u64 minflt;
	__u64 majflt;
	__u64 nvcsw;
	__u64 nivcsw;
	__u64 blkio_delay_ns; /* ended threads out; 0 while delay accounting is off */
	__u64 children_user_ns; /* waited for; leaders only, as the next three */
	__u64 children_system_ns;
	__u64 children_minflt;
	__u64 children_majflt;
	struct walked_io io;		   /* of this thread */
	struct walked_io io_with_children; /* of ended threads and waited-for children; leaders only */
	__u64 rss_file_pages;
	__u64 rss_anon_pages;
	__u64 rss_shmem_pages;
	__u64 swap_pages;
	__u64 hugetlb_pages; /* of the usual size */
	__u64 total_vm_pages;
	__u64 data_pages; /* of it; stacks included */
	__u64 hiwater_rss_pages;
	__u64 hiwater_vm_pages;
	__u64 mm; /* the address space that the nine above are of */
	char comm[COMM_BYTES];
};

/* Processes that are read at once. */
#define LIST_PART 128

enum list_outcome { LIST_MORE, LIST_END, LIST_GONE };

/* What list.bpf.c is asked, and what it answers. */
struct list_turn {
	__u32 behind; /* begin behind this process, and 0 with the first one; the last one met */
	__u32 outcome;
	__u64 behind_start_ns; /* when that one started */
	__u32 count;	       /* of records */
	__u32 known;	       /* of `rested`, so many are of the last pass; 0: everyone is read */
	__u32 next;	       /* of those, the next one that may be met */
	__u32 kept;	       /* so many are of this pass; the highest number: none are kept */
};

/*
 * A process of one thread that slept, as a pass met it: enough to tell at the next one whether it
 * has run, or anybody else has changed anything of it.
 */
struct rested {
	__u64 task; /* where the kernel has it; parent and mm as well */
	__u64 parent;
	__u64 mm;
	__u64 start_ns; /* CLOCK_BOOTTIME of the first namespace */
	__u64 cpu_ns;	/* of the thread */
	__u32 pid;
	__u32 state;
	__u32 group;
	__u32 session;
	__u32 rss_file_pages;
	__u32 rss_anon_pages;
	__u32 rss_shmem_pages;
	__u32 swap_pages;
	__u32 total_vm_pages;
	__u32 unused;
};

#endif
