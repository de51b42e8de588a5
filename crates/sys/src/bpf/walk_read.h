/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is read of a thread, and of its process: a part of walk.bpf.c and list.bpf.c.
 *
 * Everything is read by plain loads: BPF_CORE_READ is a call for each pointer on the way, and two
 * dozen of them take five times as long as all else together.
 */
#ifndef PLIMSOLL_WALK_READ_H
#define PLIMSOLL_WALK_READ_H

#define PIDTYPE_PGID 2
#define PIDTYPE_SID 3

/* How far the memory of each CPU is from where per-CPU pointers point; set by the first pass. */
static __u64 offsets[CPUS_MAX];
static __u32 cpus;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walked);
} scratch SEC(".maps");

#include "peaks.h"
#include "sigchld.h"

static __always_inline void add_io(struct walked_io *io, const struct task_io_accounting *from)
{
	if (!bpf_core_field_exists(from->rchar) || !bpf_core_field_exists(from->read_bytes))
		return;
	io->rchar_bytes += from->rchar;
	io->wchar_bytes += from->wchar;
	io->syscr += from->syscr;
	io->syscw += from->syscw;
	io->read_bytes += from->read_bytes;
	io->write_bytes += from->write_bytes;
	io->cancelled_write_bytes += from->cancelled_write_bytes;
}

static __always_inline __u32 number_of(struct pid *pid)
{
	return pid ? pid->numbers[0].nr : 0;
}

/* What the ended threads of a process left behind. */
static __always_inline void add_ended(struct walked *record, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	struct sigaction *child;

	record->threads = signal->nr_threads;
	record->cpu_ns += signal->sum_sched_runtime;
	record->cpu_user_ns += signal->utime;
	record->cpu_system_ns += signal->stime;
	record->cpu_guest_ns += signal->gtime;
	record->minflt += signal->min_flt;
	record->majflt += signal->maj_flt;
	record->nvcsw += signal->nvcsw;
	record->nivcsw += signal->nivcsw;
	record->children_user_ns = signal->cutime;
	record->children_system_ns = signal->cstime;
	record->children_minflt = signal->cmin_flt;
	record->children_majflt = signal->cmaj_flt;
	record->group = number_of(signal->pids[PIDTYPE_PGID]);
	record->session = number_of(signal->pids[PIDTYPE_SID]);
	child = &task->sighand->action[SIGCHLD - 1].sa;
	if (child->sa_handler == SIG_IGN || child->sa_flags & SA_NOCLDWAIT)
		record->flags |= WALKED_SIGCHLD_IGNORED;
	add_io(&record->io_with_children, &signal->ioac);
}

struct pages {
	struct resident sum;
	__s64 swap;
	__u64 at[4];
};

/* The offset is how far its copy of `scratch` lies from where the map's per-CPU pointer points. */
static long find_cpu(__u32 cpu, __u64 *scratch_at)
{
	__u32 zero = 0;
	void *there = bpf_map_lookup_percpu_elem(&scratch, &zero, cpu);

	if (!there || cpu >= CPUS_MAX)
		return 1;
	offsets[cpu] = address_of(there) - *scratch_at;
	cpus = cpu + 1;
	return 0;
}

/* Comes before anything is read. */
static __always_inline void find_cpus(void)
{
	struct bpf_array *array = (void *)address_of(&scratch);
	__u64 scratch_at;

	if (cpus)
		return;
	scratch_at = (__u64)BPF_CORE_READ(array, pptrs[0]);
	bpf_loop(CPUS_MAX, find_cpu, &scratch_at, 0);
}

static long add_cpu(__u32 cpu, struct pages *pages)
{
	__u64 offset;

	if (cpu >= CPUS_MAX)
		return 1;
	offset = offsets[cpu];
	pages->sum.file += part_at(pages->at[MM_FILEPAGES] + offset);
	pages->sum.anon += part_at(pages->at[MM_ANONPAGES] + offset);
	pages->sum.shmem += part_at(pages->at[MM_SHMEMPAGES] + offset);
	pages->swap += part_at(pages->at[MM_SWAPENTS] + offset);
	return 0;
}

static __always_inline void sum_split(struct pages *pages, struct mm_struct *mm)
{
	pages->sum.file = mm->rss_stat[MM_FILEPAGES].count;
	pages->sum.anon = mm->rss_stat[MM_ANONPAGES].count;
	pages->sum.shmem = mm->rss_stat[MM_SHMEMPAGES].count;
	pages->swap = mm->rss_stat[MM_SWAPENTS].count;
	pages->at[MM_FILEPAGES] = (__u64)mm->rss_stat[MM_FILEPAGES].counters;
	pages->at[MM_ANONPAGES] = (__u64)mm->rss_stat[MM_ANONPAGES].counters;
	pages->at[MM_SHMEMPAGES] = (__u64)mm->rss_stat[MM_SHMEMPAGES].counters;
	pages->at[MM_SWAPENTS] = (__u64)mm->rss_stat[MM_SWAPENTS].counters;
	bpf_loop(cpus, add_cpu, pages, 0);
}

static __always_inline void sum_whole(struct pages *pages, struct mm_struct *mm)
{
	struct mm_struct___old *old = (void *)mm;

	pages->sum.file = BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter);
	pages->sum.anon = BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter);
	pages->sum.shmem = BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter);
	pages->swap = BPF_CORE_READ(old, rss_stat.count[MM_SWAPENTS].counter);
}

static __always_inline void sum_pages(struct pages *pages, struct mm_struct *mm)
{
	if (bpf_core_field_exists(mm->rss_stat[0].counters))
		sum_split(pages, mm);
	else
		sum_whole(pages, mm);
}

/* What the kernel holds of a process once; of one that gives it back meanwhile, nothing. */
static __always_inline void read_memory(struct walked *record, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct pages pages = {};
	__u64 rss;

	if (!mm)
		return;

	sum_pages(&pages, mm);
	record->flags |= WALKED_MEMORY;
	record->mm = (__u64)mm;
	record->rss_file_pages = positive(pages.sum.file);
	record->rss_anon_pages = positive(pages.sum.anon);
	record->rss_shmem_pages = positive(pages.sum.shmem);
	record->swap_pages = positive(pages.swap);
	if (bpf_core_field_exists(mm->hugetlb_usage))
		record->hugetlb_pages = positive(mm->hugetlb_usage.counter);
	rss = record->rss_file_pages + record->rss_anon_pages + record->rss_shmem_pages;
	record->total_vm_pages = mm->total_vm;
	record->data_pages = mm->data_vm + mm->stack_vm;
	record->hiwater_rss_pages = mm->hiwater_rss;
	record->hiwater_vm_pages = mm->hiwater_vm;
	/* The kernel raises its high-water marks lazily. */
	if (rss > record->hiwater_rss_pages)
		record->hiwater_rss_pages = rss;
	if (record->total_vm_pages > record->hiwater_vm_pages)
		record->hiwater_vm_pages = record->total_vm_pages;
	barrier_var(task);
	if (task->mm != mm)
		record->flags &= ~WALKED_MEMORY;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	__u32 state = bpf_core_field_exists(task->__state) ? task->__state
							    : task->state;

	return state | task->exit_state;
}

/* What a living thread used, on top of what the others did. */
static __always_inline void add_thread(struct walked *record, struct task_struct *task)
{
	struct task_delay_info *delays;

	record->cpu_ns += task->se.sum_exec_runtime;
	record->cpu_user_ns += task->utime;
	record->cpu_system_ns += task->stime;
	record->cpu_guest_ns += task->gtime;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		record->run_delay_ns += task->sched_info.run_delay;
	record->minflt += task->min_flt;
	record->majflt += task->maj_flt;
	record->nvcsw += task->nvcsw;
	record->nivcsw += task->nivcsw;
	delays = bpf_core_field_exists(task->delays) ? task->delays : NULL;
	if (delays)
		record->blkio_delay_ns += delays->blkio_delay;
	if (bpf_core_field_exists(task->io_uring) && task->io_uring)
		record->flags |= WALKED_IO_URING;
	add_io(&record->io, &task->ioac);
}

/* Behind its end there may be anything. */
static __always_inline void read_comm(char *comm, struct task_struct *task)
{
	const __u64 *from = (const void *)&task->comm;
	__u64 *to = (void *)comm;

	to[0] = from[0];
	to[1] = from[1];
}

/* Who a thread is. */
static __always_inline void read_identity(struct walked *record, struct task_struct *task)
{
	record->tgid = task->tgid;
	record->pid = task->pid;
	record->parent_tgid = task->real_parent->tgid;
	record->state = state_of(task);
	record->start_ns = task->start_boottime;
	read_comm(record->comm, task);
}

#endif
