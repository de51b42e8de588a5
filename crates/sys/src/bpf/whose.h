/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which process a task belongs to. A part of task.bpf.c: `constants` is its.
 *
 * Who is born a member is found by the address of its signal_struct, which its threads share and
 * each holds until after its last switch: nothing is kept in the task. A mark in task storage takes
 * a process more than 2 us from its fork to when it is freed, for memory of its own that is cold
 * each time, so only these have one:
 * - who was added by hand: from outside nobody knows an address;
 * - all members of a run whose files or system calls are followed: of a stranger, it costs the
 *   programs at each system call nothing to learn that there is no mark;
 * - all, where everyone is followed: those who were there before are met thread by thread;
 * - what a launcher of `plimsoll run` begets: its own run, inside of another, adds it by hand, and
 *   finds by the mark what is known of it.
 */
#ifndef PLIMSOLL_WHOSE_H
#define PLIMSOLL_WHOSE_H

static __always_inline bool mark(struct task_struct *task, struct process_key *key)
{
	return bpf_task_storage_get(&members, task, key, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Its process and the key of that; nothing if it is no member. */
static __always_inline struct process *process_of(struct task_struct *task,
						  struct process_key *key)
{
	struct process_key *marked = key_of(task);

	if (marked) {
		*key = *marked;
	} else {
		if (constants.everyone)
			return NULL;
		key->start_ns = (__u64)READ_MEMBER(task_struct, task, signal);
		key->tgid = task->tgid;
		key->by_run = UNMARKED;
	}
	return bpf_map_lookup_elem(&processes, key);
}

/* Letter by letter: a text would stand in a section of its own, which libbpf does not take. */
#define LAUNCHER "plim-launcher\0\0"

/* Whether the present task launches what a run watches. */
static __always_inline bool is_launcher(void)
{
	char comm[COMM_BYTES] = {}, other = 0;

	bpf_get_current_comm(comm, sizeof(comm));
#pragma unroll
	for (int i = 0; i < COMM_BYTES; i++)
		other |= comm[i] ^ LAUNCHER[i];
	return !other;
}

/*
 * Whether who is born to the present task, one of `parent`, has a mark. Global as enter(): inline,
 * the verifier of Linux 6.1 goes each of its ways through all that follows.
 */
__attribute__((noinline)) int wants_mark(struct process *parent)
{
	if (!parent)
		return 0;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct run *run = live_run(parent->runs[i]);

		if (run && run->marks)
			return 1;
	}
	return is_launcher();
}

#endif
