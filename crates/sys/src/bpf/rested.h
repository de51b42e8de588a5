/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who has slept since the last pass along the list of processes: a part of list.bpf.c.
 *
 * What a process has used changes only while it runs, and then the time that it ran does. Others
 * can change its parent, its process group until it executes a program, and what is resident of its
 * memory: these are compared. The memory of several processes may grow while one of them sleeps, so
 * they are read each time.
 *
 * Who is met comes in the order of the last pass, whoever has ended left out, whoever is new behind
 * all others: so the kept ones are moved up in place.
 */
#ifndef PLIMSOLL_RESTED_H
#define PLIMSOLL_RESTED_H

#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD 0x00200000

/* So many who have ended are passed over before each who is met. */
#define ENDED_PASSED_OVER 8

/* Its length is set at load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rested);
} rested SEC(".maps");

/* What the last pass kept of a process; NULL if it is new, or did not sleep. */
static __always_inline struct rested *expected(struct list_turn *turn, __u64 address)
{
	struct task_struct *task = task_at(address);

	for (int i = 0; i < ENDED_PASSED_OVER; i++) {
		__u32 place = turn->next;
		struct rested *then;

		if (place >= turn->known)
			return NULL;
		then = bpf_map_lookup_elem(&rested, &place);
		if (!then)
			return NULL;
		if (then->task == address && then->pid == task->pid) {
			turn->next = place + 1;
			return then;
		}
		if (then->start_ns >= task->start_boottime)
			return NULL;
		turn->next = place + 1;
	}
	return NULL;
}

/* Whether its parent may still move it to another process group. */
static __always_inline bool may_be_moved(struct task_struct *task)
{
	return (task->flags & (PF_FORKNOEXEC | PF_KTHREAD)) == PF_FORKNOEXEC;
}

/* Whether nothing that a record has can differ. Nothing of the process is changed. */
__noinline int rests(struct rested *then, __u64 address)
{
	struct task_struct *task = task_at(address);
	struct pages pages = {};
	struct mm_struct *mm;

	if (!then || then->cpu_ns != task->se.sum_exec_runtime || then->state != state_of(task) ||
	    then->parent != address_of(task->real_parent))
		return 0;
	if (may_be_moved(task) && (then->group != number_of(task->signal->pids[PIDTYPE_PGID]) ||
				   then->session != number_of(task->signal->pids[PIDTYPE_SID])))
		return 0;
	mm = task->mm;
	if (then->mm != address_of(mm))
		return 0;
	if (!mm)
		return 1;
	if (mm->mm_users.counter != 1 || then->total_vm_pages != (__u32)mm->total_vm)
		return 0;
	sum_pages(&pages, mm);
	return then->rss_file_pages == (__u32)positive(pages.sum.file) &&
	       then->rss_anon_pages == (__u32)positive(pages.sum.anon) &&
	       then->rss_shmem_pages == (__u32)positive(pages.sum.shmem) &&
	       then->swap_pages == (__u32)positive(pages.swap);
}

/* Room for one more who sleeps; NULL if there is none. */
static __always_inline struct rested *next_kept(struct list_turn *turn)
{
	__u32 place = turn->kept;
	struct rested *kept = bpf_map_lookup_elem(&rested, &place);

	if (kept) {
		turn->kept = place + 1;
		/* What was there is not met any more. */
		if (turn->next < turn->kept)
			turn->next = turn->kept;
	}
	return kept;
}

/* Keeps who slept on. */
static __always_inline void keep_still(struct list_turn *turn, struct rested *then)
{
	struct rested *kept = next_kept(turn);

	if (kept && kept != then)
		*kept = *then;
}

/*
 * Keeps a process of one thread if it sleeps. Its CPU time and parent are from before the record
 * was read: if one of them is another by then, the next pass finds that they differ.
 */
static __always_inline void keep_rested(struct list_turn *turn, const struct walked *record,
					__u64 address, __u64 cpu_ns, __u64 parent)
{
	struct rested *kept;

	if (!record->state)
		return;
	kept = next_kept(turn);
	if (!kept)
		return;
	kept->task = address;
	kept->parent = parent;
	kept->mm = record->flags & WALKED_MEMORY ? record->mm : 0;
	kept->start_ns = record->start_ns;
	kept->cpu_ns = cpu_ns;
	kept->pid = record->pid;
	kept->state = record->state;
	kept->group = record->group;
	kept->session = record->session;
	kept->rss_file_pages = record->rss_file_pages;
	kept->rss_anon_pages = record->rss_anon_pages;
	kept->rss_shmem_pages = record->rss_shmem_pages;
	kept->swap_pages = record->swap_pages;
	kept->total_vm_pages = record->total_vm_pages;
}

#endif
