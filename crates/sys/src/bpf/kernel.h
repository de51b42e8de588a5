/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few kernel types and constants that the programs need. Only names and types matter: offsets
 * are relocated at load against the running kernel's BTF. `___old` marks what an earlier kernel
 * calls the same thing (the part from `___` on is not part of the name).
 */
#ifndef PLIMSOLL_KERNEL_H
#define PLIMSOLL_KERNEL_H

#include <stdbool.h>

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_ARRAY_OF_MAPS 12
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_NOEXIST 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0
#define BPF_RB_RING_SIZE 1

#define TASK_DEAD 0x80
#define SIGNAL_GROUP_EXIT 0x4
/* Slots of mm->rss_stat (linux/mm_types_task.h). */
#define MM_FILEPAGES 0
#define MM_ANONPAGES 1
#define MM_SWAPENTS 2
#define MM_SHMEMPAGES 3

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_io_accounting {
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

struct sched_info {
	__u64 run_delay;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_delay_info {
	__u64 blkio_delay;
};

typedef struct {
	unsigned int sequence;
} seqcount_t;

typedef struct {
	seqcount_t seqcount;
} seqcount_spinlock_t;

typedef struct {
	seqcount_spinlock_t seqcount;
} seqlock_t;

struct list_head {
	struct list_head *next;
};

struct signal_struct {
	struct list_head thread_head;
	seqlock_t stats_lock;
	int group_exit_code;
	unsigned int flags;
	unsigned long maxrss;
	int nr_threads;
	__u64 utime;
	__u64 stime;
	__u64 gtime;
	unsigned long long sum_sched_runtime;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 cutime;
	__u64 cstime;
	unsigned long cmin_flt;
	unsigned long cmaj_flt;
	struct task_io_accounting ioac;
	struct pid *pids[4];
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic_long_t;

struct mm_struct {
	unsigned long hiwater_rss;
	unsigned long hiwater_vm;
	unsigned long total_vm;
	unsigned long data_vm;
	unsigned long stack_vm;
	unsigned long arg_start;
	unsigned long arg_end;
	struct percpu_counter rss_stat[4];
	atomic_long_t hugetlb_usage;
	atomic_t mm_users;
};

/* Before 6.2. */
struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct___old {
	struct mm_rss_stat rss_stat;
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
};

struct linux_binprm {
	const char *filename;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct list_head tasks;
	struct list_head thread_node;
	unsigned int __state;
	volatile long state; /* in place of __state before 5.14 */
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned int flags;
	struct mm_struct *mm;
	int exit_code;
	int exit_signal;
	int exit_state;
	char comm[16];
	int pid;
	int tgid;
	unsigned int ptrace;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	__u64 utime;
	__u64 stime;
	__u64 gtime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct task_io_accounting ioac;
	struct task_delay_info *delays;
	void *io_uring;
	const struct cred *real_cred;
	const struct cred *cred;
	struct css_set *cgroups;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

/* What a program of iter/task is given. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* As an open-coded iterator of numbers is kept. */
struct bpf_iter_num {
	__u64 __opaque[1];
};

/* As an open-coded iterator of tasks is kept; its size alone matters. */
struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

/* What is behind a map; of BPF_MAP_TYPE_PERCPU_ARRAY here. */
struct bpf_array {
	void *pptrs[0];
};

#pragma clang attribute pop

#endif
