/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Processes that were there before everyone was followed: one pass over all threads, once the other
 * programs are attached, makes each what it would be had it been followed from the start.
 */
#ifndef PLIMSOLL_EARLIER_H
#define PLIMSOLL_EARLIER_H

#define PF_EXITING 0x4

/*
 * What the threads used that had ended by then. The kernel keeps no sum of what they waited for,
 * and in that of their I/O are the children that were waited for.
 */
static __always_inline void add_earlier_threads(struct process *process,
						struct signal_struct *signal)
{
	struct counters *sum = &process->counters;

	sum->cpu_ns = BPF_CORE_READ(signal, sum_sched_runtime);
	sum->cpu_user_ns = BPF_CORE_READ(signal, utime);
	sum->cpu_system_ns = BPF_CORE_READ(signal, stime);
	sum->minflt = BPF_CORE_READ(signal, min_flt);
	sum->majflt = BPF_CORE_READ(signal, maj_flt);
	sum->nvcsw = BPF_CORE_READ(signal, nvcsw);
	sum->nivcsw = BPF_CORE_READ(signal, nivcsw);
	process->final_cpu_ns = sum->cpu_ns;
	process->is_part = sum->cpu_ns != 0;
}

/* The process of a thread that is no member yet; made where this is its first one. */
static __always_inline struct process *earlier_process(struct task_struct *task,
							struct process_key *key, bool *is_first)
{
	struct process *process = bpf_map_lookup_elem(&processes, key), *everyones;
	struct process earlier = {.start_ns = key->start_ns};
	struct signal_struct *signal;
	__u32 zero = 0;

	if (process)
		return process;
	everyones = bpf_map_lookup_elem(&origin, &zero);
	if (!everyones)
		return NULL;
	signal = BPF_CORE_READ(task, signal);
	earlier.runs[0] = everyones->runs[0];
	/* What its present program reached of it is not known. */
	earlier.maxrss_at_exec_pages = BPF_CORE_READ(signal, maxrss);
	add_earlier_threads(&earlier, signal);
	if (bpf_map_update_elem(&processes, key, &earlier, BPF_NOEXIST)) {
		count_lost(everyones);
		return NULL;
	}
	*is_first = true;
	return bpf_map_lookup_elem(&processes, key);
}

SEC("iter/task")
int on_earlier(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct process_key key = {};
	struct process *process;
	bool is_first = false;

	/* One that ends now may be past the programs already. */
	if (!task || task->flags & PF_EXITING || key_of(task))
		return 0;
	key.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	key.tgid = task->tgid;
	process = earlier_process(task, &key, &is_first);
	if (!process)
		return 0;
	__sync_fetch_and_add(&process->threads_alive, 1);
	__sync_fetch_and_add(&process->threads_scheduled, 1);
	if (!mark(task, &key)) {
		__sync_fetch_and_add(&process->threads_alive, -1);
		__sync_fetch_and_add(&process->threads_scheduled, -1);
		count_lost(process);
		return 0;
	}
	enter(process->runs[0], is_first);
	return 0;
}

#endif
