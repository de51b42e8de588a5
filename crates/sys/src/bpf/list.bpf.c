// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A part of a pass over all living processes of the node: along the kernel's own list of them, one
 * record a process into an array that user space has mapped. Two thirds of what iter/task takes:
 * nobody looks up and holds each task by its number, and nothing is copied.
 *
 * Each part is one RCU section, short enough to keep nobody waiting. The next part goes on behind
 * the last process that was met, if that is still there.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "walk.h"
#include "walk_read.h"

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;

extern struct task_struct *bpf_task_acquire(struct task_struct *task) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

/* BPF_TASK_ITER_* of the kernel. */
#define ALL_PROCESSES 0
#define THREADS_OF 2

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LIST_PART);
	__type(key, __u32);
	__type(value, struct walked);
} listed SEC(".maps");

/* The number of changes to the sums of ended threads; odd while one is made. */
static __always_inline __u32 changes(struct signal_struct *signal)
{
	if (!bpf_core_field_exists(signal->stats_lock.seqcount.seqcount.sequence))
		return 0;
	return signal->stats_lock.seqcount.seqcount.sequence;
}

/*
 * The verifier looks at a function that is not static once, and not along every path that leads
 * there; but it takes no kernel structure, only its address.
 */
static __always_inline struct task_struct *task_at(__u64 address)
{
	return bpf_core_cast((void *)address, struct task_struct);
}

/* What a process is, and its main thread used; how often sums of ended threads had changed. */
__noinline __u32 read_leader(struct walked *record, __u64 address)
{
	struct task_struct *task = task_at(address);
	__u32 before;

	if (!record)
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	record->flags = WALKED_WHOLE;
	read_identity(record, task);
	before = changes(task->signal);
	add_ended(record, task);
	add_thread(record, task);
	read_memory(record, task);
	return before;
}

/* What another thread used; whether it lives. */
__noinline int read_other(struct walked *record, __u64 address)
{
	struct task_struct *task = task_at(address);

	if (!record)
		return 0;
	add_thread(record, task);
	if (!(record->flags & WALKED_MEMORY))
		read_memory(record, task);
	return !task->exit_state;
}

/* All threads but the main one; whether one of them lives. */
static __always_inline bool read_others(struct walked *record, struct task_struct *leader)
{
	struct bpf_iter_task threads;
	struct task_struct *task;
	bool is_alive = false;

	bpf_iter_task_new(&threads, leader, THREADS_OF);
	while ((task = bpf_iter_task_next(&threads))) {
		if (task != leader && read_other(record, address_of(task)))
			is_alive = true;
	}
	bpf_iter_task_destroy(&threads);
	return is_alive;
}

/* Reads one process; false if there is no room. */
static __always_inline bool take(struct list_turn *turn, struct task_struct *task)
{
	__u32 place = turn->count;
	struct walked *record = bpf_map_lookup_elem(&listed, &place);
	bool is_alive = !task->exit_state;
	__u32 before;

	if (!record)
		return false;
	before = read_leader(record, address_of(task));
	turn->behind = task->pid;
	turn->behind_start_ns = task->start_boottime;
	if (record->threads > 1) {
		task = bpf_task_acquire(task);
		/* It may have nobody who holds it any more. */
		if (task) {
			is_alive |= read_others(record, task);
			/* A thread that ended now may be met, and be in the sums as well. */
			if (before & 1 || changes(task->signal) != before)
				record->flags |= WALKED_TORN;
			bpf_task_release(task);
		}
	}
	if (is_alive)
		turn->count = place + 1;
	return true;
}

SEC("syscall")
int list(struct list_turn *turn)
{
	__u64 start_ns = turn->behind_start_ns;
	__u32 behind = turn->behind;
	struct bpf_iter_task all;
	struct task_struct *task;

	find_cpus();
	turn->count = 0;
	turn->outcome = LIST_END;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&all, NULL, ALL_PROCESSES);
	while ((task = bpf_iter_task_next(&all))) {
		if (behind) {
			if (task->pid == behind && task->start_boottime == start_ns)
				behind = 0;
			continue;
		}
		/* The list begins with the idle task. */
		if (task->pid && !take(turn, task)) {
			turn->outcome = LIST_MORE;
			break;
		}
	}
	bpf_iter_task_destroy(&all);
	bpf_rcu_read_unlock();
	if (behind)
		turn->outcome = LIST_GONE;
	return 0;
}
