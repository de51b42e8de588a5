/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of task.bpf.c and layout.rs share: fixed widths, units in the names. */
#ifndef PLIMSOLL_TASK_H
#define PLIMSOLL_TASK_H

/* Runs at once on a node; a slot of `runs` and `rings` each. */
#define RUN_SLOTS 1024u
/* Runs that one process can belong to (nested runs). */
#define RUNS_PER_PROCESS 8
/* Processes that are followed at once, zombies in. */
#define PROCESSES_MAX 65536
/* The longest that the end of a thread is told after whoever joins it was woken. */
#define LATE_MAX_NS 50000000ull
/* More than a kernel can be built for. */
#define CPUS_MAX 8192
#define COMMAND_BYTES_MAX 4096
/* A longer command line comes in so many parts at most, where everyone is followed. */
#define COMMAND_PARTS_MAX 32
#define PATH_BYTES_MAX 256
#define COMM_BYTES 16
/* Hierarchies of control groups in which a process is told: version 2, and two of version 1. */
#define GROUPS_TOLD 3
#define GROUP_PATH_BYTES_MAX 1024
/* What `watchful` of a run is: not at all, 1, or this. */
#define WATCHFUL_OF_KILLS 2

enum event_kind {
	EVENT_FORK = 1,
	EVENT_EXEC = 2,
	EVENT_EXIT = 3,
	EVENT_FINAL = 4,
	EVENT_GROUP = 5,
	EVENT_ARGUMENTS = 6,
};

/* `by_run` of a process that has no mark. */
#define UNMARKED 0xffffffffu

/* Who a process is; set once, before its first instruction. */
struct process_key {
	__u64 start_ns; /* CLOCK_BOOTTIME; of one without a mark the address of its signal_struct */
	__u32 tgid;
	__u32 by_run; /* slot of the run that added it by hand, + 1; 0: it was born a member */
};

/* A run, as the node shares it. The low 10 bits of `id` are its slot. */
struct run {
	__u64 id;
	__u64 processes_total;
	__s64 processes_alive;
	__s64 processes_peak;
	__s64 threads_alive;
	__s64 threads_peak;
	__u64 events_lost;
	__u64 io_uring_tasks; /* threads that had a ring when they ended */
	__u64 asleep;	      /* the reader waits for a wake-up with the next event */
	__u64 auto_reaped;    /* processes that nobody will wait for */
	__u64 threads_peak_at_ns; /* CLOCK_BOOTTIME */
	__s64 threads_at_most; /* a peak that threads who had ended may have raised */
	__u64 watchful;	      /* the reader waits for a wake-up when half of the ring is full; if it is
				 WATCHFUL_OF_KILLS, by an end by SIGKILL too */
	__u64 marks;	      /* who is born has a mark: others ask who it is at each system call */
	__u64 unused[2];      /* counters of two runs never share a cache line */
};

struct counters {
	__u64 cpu_ns;
	__u64 cpu_user_ns;
	__u64 cpu_system_ns;
	__u64 run_delay_ns;
	__u64 blkio_delay_ns;
	__u64 minflt;
	__u64 majflt;
	__u64 nvcsw;
	__u64 nivcsw;
	__u64 rchar_bytes;
	__u64 wchar_bytes;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

/* Who sent a signal last, of the initial pid and user namespaces; all 0: nobody. */
struct sender {
	__u32 pid;
	__u32 uid;
	__u32 signal;
	__u32 fault; /* si_code of the kernel's own, for what the process did; 0: somebody's */
	char comm[COMM_BYTES];
};

/* What is known of a live process. `counters` holds its ended threads. */
struct process {
	__u64 runs[RUNS_PER_PROCESS]; /* ids; 0: free */
	__u64 start_ns;
	__s64 threads_alive;	   /* not yet past sched_process_exit */
	__s64 threads_scheduled;   /* not yet switched out for the last time */
	__u64 final_cpu_ns;	   /* of threads switched out for the last time */
	__u64 maxrss_at_exec_pages; /* signal->maxrss when the present program began */
	__u64 rss_peak_pages;	   /* of an mm that is gone at sched_process_exit; else 0 */
	__u64 vm_peak_pages;
	__u64 anon_pages;
	struct counters counters;
	__u32 execs;
	__u32 is_part; /* waits and I/O of threads that had ended before are missing */
	struct sender sender;
};

/* Opens every event. */
struct event {
	__u32 kind;
	__u32 pid;
	__u64 at_ns;	/* CLOCK_BOOTTIME */
	__u64 start_ns; /* of the process */
};

struct event_fork {
	struct event head;
	__u32 parent_pid;
	__u32 memory_of; /* whose address space it has, if not its own; else 0 */
};

struct event_exec {
	struct event head;
	__u32 command_bytes;	  /* in text */
	__u32 command_full_bytes; /* before it was cut */
	__u32 path_bytes;	  /* in text, behind the command; no NUL */
	__u32 unused;
	__u64 run_delay_ns; /* of the thread up to here */
	__u64 maxrss_pages; /* signal->maxrss: of all programs before */
	__u64 faults;	    /* of the process up to here */
	__u64 groups[GROUPS_TOLD]; /* numbers of its control groups; 0: not told */
	char text[COMMAND_BYTES_MAX + PATH_BYTES_MAX];
};

/* More of the command line of an event_exec, which comes behind all of these. */
struct event_arguments {
	struct event head;
	__u32 at;    /* behind so many bytes of it */
	__u32 bytes; /* in text */
	char text[COMMAND_BYTES_MAX];
};

/* Flags of event_exit. */
#define EXIT_PEAKS_OF_MM 1u	   /* peaks were read from the mm */
#define EXIT_MAXRSS_OF_PROGRAM 2u  /* rss_peak is signal->maxrss, reached by the last program */
#define EXIT_MAXRSS_OF_EARLIER 4u  /* rss_peak is signal->maxrss, reached before the last exec */
#define EXIT_NO_BLKIO_DELAY 8u	   /* delay accounting is off */
#define EXIT_NO_RUN_DELAY 16u	   /* this kernel does not count it */
#define EXIT_NO_IO 32u		   /* this kernel does not count it */

struct event_exit {
	struct event head;
	__u32 wait_status; /* as wait(2) gives it */
	__u32 flags;
	struct counters own;
	__u64 rss_peak_pages;
	__u64 vm_peak_pages;
	__u64 anon_pages;
	__u32 parent_pid; /* real_parent at the end */
	__u32 uid;	  /* real, of the initial user namespace */
	char comm[COMM_BYTES];
	struct sender sender;
	__u64 groups[GROUPS_TOLD]; /* as in event_exec; left out where nobody is told of them */
};

struct event_final {
	struct event head;
	__u64 cpu_ns;
};

/* A control group was made. */
struct event_group {
	struct event head; /* of nobody */
	__u64 number;
	__u32 hierarchy;
	__u32 path_bytes;
	char path[GROUP_PATH_BYTES_MAX]; /* below the root of its hierarchy */
};

#endif
