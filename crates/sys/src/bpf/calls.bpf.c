// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The system calls of a task: how many of each kind, how many failed, how long they took.
 *
 * Loaded by each run that asks, for itself. A thread counts in its task storage, a slot for each of
 * the kinds that it calls now; what gives way, and all at its end, is added to the table.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "maps.h"
#include "calls.h"
#include "io_arch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The run that asked, and the user whose programs alone are counted, + 1; 0: all. */
const volatile __u64 own[2] = {};

struct call_slot {
	__u32 call; /* + 1; 0: none */
	__u32 unused;
	struct call_counts counts;
};

struct call_thread {
	struct process_key process;
	__u64 entered_ns; /* 0: in no call */
	__u32 call;
	__u32 unused;
	struct call_slot slots[CALL_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_thread);
} call_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CALLS_MAX);
	__type(key, struct call_key);
	__type(value, struct call_counts);
} call_table SEC(".maps");

/* What found no place there, by number; calls of the 32 bit interface behind the others. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_FOREIGN + 1);
	__type(key, __u32);
	__type(value, struct call_counts);
} call_rest SEC(".maps");

static __always_inline void add(struct call_counts *sum, struct call_counts *counts)
{
	__sync_fetch_and_add(&sum->calls, counts->calls);
	__sync_fetch_and_add(&sum->errors, counts->errors);
	__sync_fetch_and_add(&sum->time_ns, counts->time_ns);
}

/* Adds what a thread counted in a slot to the table; the slot is free then. */
__attribute__((noinline)) int put_down(struct call_thread *thread, __u32 index)
{
	static const struct call_counts none;
	struct call_key key = {};
	struct call_counts *sum;
	struct call_slot *slot;
	__u32 number;

	if (!thread || index >= CALL_SLOTS)
		return 0;
	slot = &thread->slots[index];
	if (!slot->call)
		return 0;
	key.process_ns = thread->process.start_ns;
	key.tgid = thread->process.tgid;
	key.call = slot->call - 1;
	sum = bpf_map_lookup_elem(&call_table, &key);
	if (!sum) {
		bpf_map_update_elem(&call_table, &key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&call_table, &key);
	}
	if (!sum) {
		number = key.call & ~CALL_COMPAT;
		if (number >= CALL_NUMBERS)
			number = CALL_NUMBERS - 1;
		if (key.call & CALL_COMPAT)
			number += CALL_NUMBERS;
		sum = bpf_map_lookup_elem(&call_rest, &number);
	}
	if (sum)
		add(sum, &slot->counts);
	slot->call = 0;
	slot->counts.calls = 0;
	slot->counts.errors = 0;
	slot->counts.time_ns = 0;
	return 0;
}

/* Whether the run counts the process. What was added by hand counts from its exec on: before that
 * it is not the task. */
static __always_inline bool is_ours(struct process_key *of)
{
	/* Older kernels take keys from the stack. */
	struct process_key key = *of;
	struct process *process = bpf_map_lookup_elem(&processes, &key);

	if (!process || (key.by_run && !process->execs))
		return false;
	for (int i = 0; i < RUNS_PER_PROCESS; i++)
		if (process->runs[i] == own[0])
			return true;
	return false;
}

/* Whether the owner is not to learn what the present task does: it runs as another user, as a
 * setuid program that he started. */
static __always_inline bool is_foreign(struct task_struct *task)
{
	static const struct call_counts once = { .calls = 1 };
	__u32 index = CALL_FOREIGN;

	if (!own[1] || own[1] == BPF_CORE_READ(task, cred, euid.val) + 1ull)
		return false;
	bpf_map_update_elem(&call_rest, &index, &once, 0);
	return true;
}

static __always_inline struct call_thread *thread_of(struct task_struct *task)
{
	struct call_thread *thread = bpf_task_storage_get(&call_threads, task, 0, 0);
	struct process_key *key;

	if (thread)
		return thread;
	key = key_of(task);
	if (!key || !is_ours(key))
		return NULL;
	thread = bpf_task_storage_get(&call_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread->process = *key;
	return thread;
}

/* Counts the call that the thread is in. */
__attribute__((noinline)) int count_call(struct call_thread *thread, __u32 failed)
{
	struct call_slot *slot;
	__u32 index;

	if (!thread)
		return 0;
	index = thread->call & (CALL_SLOTS - 1);
	slot = &thread->slots[index];
	if (slot->call != thread->call + 1) {
		put_down(thread, index);
		slot->call = thread->call + 1;
	}
	slot->counts.calls++;
	slot->counts.errors += failed;
	if (thread->entered_ns)
		slot->counts.time_ns += bpf_ktime_get_ns() - thread->entered_ns;
	thread->entered_ns = 0;
	return 0;
}

/* The thread is in a call of this number. */
static __always_inline void note_call(struct call_thread *thread, struct task_struct *task,
				      __u64 number)
{
	thread->call = (__u32)number & ~CALL_COMPAT;
	if (IS_COMPAT(task))
		thread->call |= CALL_COMPAT;
}

/* (regs, number) */
SEC("tp_btf/sys_enter")
int on_enter(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_thread *thread = thread_of(task);

	if (!thread || is_foreign(task))
		return 0;
	note_call(thread, task, ctx[1]);
	thread->entered_ns = bpf_ktime_get_ns();
	return 0;
}

/* (regs, result) */
SEC("tp_btf/sys_exit")
int on_leave(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_thread *thread = bpf_task_storage_get(&call_threads, task, 0, 0);

	if (!thread)
		return 0;
	if (is_foreign(task)) {
		thread->entered_ns = 0;
		return 0;
	}
	/* A filter (seccomp) refused it: of such a call the kernel tells the return only. */
	if (!thread->entered_ns)
		note_call(thread, task, CALL_NR((struct pt_regs *)ctx[0]));
	return count_call(thread, IS_ERROR(ctx[1]));
}

/* (task, ...), once a thread: out of a call that does not return. */
SEC("tp_btf/sched_process_exit")
int on_end(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct call_thread *thread = bpf_task_storage_get(&call_threads, task, 0, 0);

	if (!thread)
		return 0;
	if (thread->entered_ns && !is_foreign(task))
		count_call(thread, false);
	for (__u32 index = 0; index < CALL_SLOTS; index++)
		put_down(thread, index);
	return 0;
}

/* What living threads counted that is not in the table. */
SEC("iter/task")
int dump_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct call_thread *thread;

	if (!task)
		return 0;
	thread = bpf_task_storage_get(&call_threads, task, 0, 0);
	if (!thread)
		return 0;
	for (__u32 index = 0; index < CALL_SLOTS; index++) {
		struct call_slot *slot = &thread->slots[index];
		struct {
			struct call_key key;
			struct call_counts counts;
		} found = {};

		if (!slot->call)
			continue;
		found.key.process_ns = thread->process.start_ns;
		found.key.tgid = thread->process.tgid;
		found.key.call = slot->call - 1;
		found.counts = slot->counts;
		bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	}
	return 0;
}
