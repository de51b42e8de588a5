// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A part of a pass over all living processes of the node: along the kernel's own list of them, one
 * record a process into an array that user space has mapped. Two thirds of what iter/task takes:
 * nobody looks up and holds each task by its number, and nothing is copied.
 *
 * Each part is one RCU section, short enough to keep nobody waiting. The next part goes on behind
 * the last process that was met, found by its number, if that is still there.
 *
 * Of who has slept since the last pass, only that is looked at which tells so (rested.h).
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "walk.h"
#include "read.h"
#include "walk_read.h"

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;

extern void bpf_task_release(struct task_struct *task) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;

/* BPF_TASK_ITER_ALL_PROCS of the kernel. */
#define ALL_PROCESSES 0
/*
 * On a list, at most, that is looked at in one piece: processes that have ended and are not waited
 * for take no record.
 */
#define LIST_LOOKED_AT (1 << 16)

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LIST_PART);
	__type(key, __u32);
	__type(value, struct walked);
} listed SEC(".maps");

/*
 * The verifier looks at a function that is not static once, and not along every path that leads
 * there; but it takes no kernel structure, only its address.
 */
static __always_inline struct task_struct *task_at(__u64 address)
{
	return bpf_core_cast((void *)address, struct task_struct);
}

#include "rested.h"

/* The number of changes to the sums of ended threads; odd while one is made. */
static __always_inline __u32 changes(struct signal_struct *signal)
{
	if (!bpf_core_field_exists(signal->stats_lock.seqcount.seqcount.sequence))
		return 0;
	return signal->stats_lock.seqcount.seqcount.sequence;
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
static __always_inline bool read_others(struct walked *record, __u64 leader)
{
	__u64 head = address_of(task_at(leader)->signal) +
		     bpf_core_field_offset(struct signal_struct, thread_head);
	struct list_head *node = bpf_core_cast((void *)head, struct list_head)->next;
	struct bpf_iter_num each;
	bool is_alive = false;
	__u64 address;

	bpf_iter_num_new(&each, 0, LIST_LOOKED_AT);
	while (bpf_iter_num_next(&each)) {
		if (address_of(node) == head)
			break;
		address = address_of(node) - bpf_core_field_offset(struct task_struct, thread_node);
		if (address != leader && read_other(record, address))
			is_alive = true;
		node = task_at(address)->thread_node.next;
	}
	bpf_iter_num_destroy(&each);
	return is_alive;
}

/* Reads a process of which something may differ; whether it lives. */
static __always_inline bool read_anew(struct list_turn *turn, struct walked *record, __u64 address)
{
	struct task_struct *task = task_at(address);
	__u64 cpu_ns = task->se.sum_exec_runtime;
	__u64 parent = address_of(task->real_parent);
	bool is_alive = !task->exit_state;
	__u32 before = read_leader(record, address);

	if (record->threads > 1) {
		is_alive |= read_others(record, address);
		/* A thread that ended now may be met, and be in the sums as well. */
		if (before & 1 || changes(task->signal) != before)
			record->flags |= WALKED_TORN;
	} else if (is_alive && record->threads == 1) {
		keep_rested(turn, record, address, cpu_ns, parent);
	}
	return is_alive;
}

/* Takes one process; false if there is no room. */
static __always_inline bool take(struct list_turn *turn, __u64 address)
{
	__u32 place = turn->count;
	struct walked *record = bpf_map_lookup_elem(&listed, &place);
	struct task_struct *task = task_at(address);
	struct rested *then;

	if (!record)
		return false;
	turn->behind = task->pid;
	then = expected(turn, address);
	if (then && rests(then, address)) {
		record->tgid = record->pid = then->pid;
		record->start_ns = turn->behind_start_ns = then->start_ns;
		record->flags = WALKED_WHOLE | WALKED_SAME;
		turn->count = place + 1;
		keep_still(turn, then);
		return true;
	}
	turn->behind_start_ns = task->start_boottime;
	if (read_anew(turn, record, address))
		turn->count = place + 1;
	return true;
}

/* Who comes behind on the list. */
static __always_inline __u64 next_to(__u64 address)
{
	struct list_head *next = task_at(address)->tasks.next;

	return address_of(next) - bpf_core_field_offset(struct task_struct, tasks);
}

/* Reads so many behind this one, up to the end of the list. */
static __noinline void read_behind(struct list_turn *turn, __u64 address)
{
	struct bpf_iter_num each;

	turn->outcome = LIST_MORE;
	bpf_iter_num_new(&each, 0, LIST_LOOKED_AT);
	while (bpf_iter_num_next(&each)) {
		address = next_to(address);
		/* The list is a ring. */
		if (!task_at(address)->pid) {
			turn->outcome = LIST_END;
			break;
		}
		if (!take(turn, address))
			break;
	}
	bpf_iter_num_destroy(&each);
}

/* The idle task, with which the list begins. */
static __always_inline __u64 idle_task(void)
{
	struct bpf_iter_task all;
	__u64 address;

	bpf_iter_task_new(&all, NULL, ALL_PROCESSES);
	address = address_of(bpf_iter_task_next(&all));
	bpf_iter_task_destroy(&all);
	return address;
}

SEC("syscall")
int list(struct list_turn *turn)
{
	struct task_struct *last;

	find_cpus();
	turn->count = 0;
	turn->outcome = LIST_GONE;
	bpf_rcu_read_lock();
	if (!turn->behind) {
		read_behind(turn, idle_task());
	} else if ((last = bpf_task_from_pid(turn->behind))) {
		if (last->start_boottime == turn->behind_start_ns)
			read_behind(turn, address_of(last));
		bpf_task_release(last);
	}
	bpf_rcu_read_unlock();
	return 0;
}
