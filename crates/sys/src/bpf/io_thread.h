/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is known of a thread: found once, and anew when a run begins or ends. */
#ifndef PLIMSOLL_IO_THREAD_H
#define PLIMSOLL_IO_THREAD_H

/*
 * Whether `run` is not to learn what the present task does: its owner is another user, as of a
 * setuid program that he started.
 */
static __always_inline bool is_foreign(struct io_run *run)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!run->owner)
		return false;
	return run->owner != BPF_CORE_READ(task, cred, euid.val) + 1ull;
}

/*
 * Which runs ask for the files of a process, by one of its threads. Global: the verifier checks it
 * once.
 */
__attribute__((noinline)) int find_runs(struct io_thread *thread)
{
	struct process *process;
	struct process_key key;
	__u32 count = 0;

	if (!thread)
		return 0;
	/* Older kernels take keys from the stack. */
	key = thread->process;
	process = bpf_map_lookup_elem(&processes, &key);
	thread->times = 0;
	thread->waits = 0;
	thread->told = 0;
	thread->owned = 0;
	thread->runs[0] = 0;
	if (!process)
		return 0;
	thread->process_start_ns = process->start_ns;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run = io_run_of(process->runs[i]);

		if (!run)
			continue;
		thread->owned |= run->owner;
		if (is_foreign(run)) {
			__sync_fetch_and_or(&run->flags, IO_RUN_FOREIGN);
			continue;
		}
		/* The verifier does not keep the bound across the loop: mask it, unseen by clang. */
		barrier_var(count);
		thread->runs[count & (RUNS_PER_PROCESS - 1)] = process->runs[i];
		if (run->flags & IO_RUN_TIMES)
			thread->times = 1;
		if (run->flags & IO_RUN_FROM_EXEC && key.by_run && !process->execs)
			thread->waits = 1;
		count++;
	}
	if (count < RUNS_PER_PROCESS)
		thread->runs[count] = 0;
	return 0;
}

/* Finds the runs of the thread's process anew. */
__attribute__((noinline)) int refresh(struct io_thread *thread)
{
	struct io_config *config;
	__u32 zero = 0;

	config = bpf_map_lookup_elem(&io_config, &zero);
	if (!thread || !config)
		return 0;
	/* What was counted so far is of the runs so far. */
	for (__u32 index = 0; index < IO_SLOTS; index++)
		put_down(thread, index);
	/* What a call under way has added it may make dirty before it returns: it was not read then. */
	if (!thread->pages.in)
		put_pages(thread);
	thread->generation = config->generation;
	find_runs(thread);
	config->jiffies = bpf_jiffies64();
	config->boot_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* The place for what is known of the thread; nothing if its process belongs to no run. */
static __always_inline struct io_thread *place_for(struct task_struct *task)
{
	struct io_thread *thread = bpf_task_storage_get(&io_threads, task, 0, 0);
	struct process_key *key;

	if (thread)
		return thread;
	key = key_of(task);
	if (!key)
		return NULL;
	thread = bpf_task_storage_get(&io_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread->process = *key;
	return thread;
}

/* What is known of the thread; nothing if no run asks for its files. */
static __always_inline struct io_thread *thread_of(struct task_struct *task)
{
	struct io_thread *thread = place_for(task);
	struct io_config *config;
	__u32 zero = 0;

	if (!thread)
		return NULL;
	config = bpf_map_lookup_elem(&io_config, &zero);
	if (config && thread->generation != config->generation)
		refresh(thread);
	if (thread->waits) {
		find_runs(thread);
		if (thread->waits)
			return NULL;
	}
	return thread->runs[0] ? thread : NULL;
}

#endif
