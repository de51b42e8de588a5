// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One pass over the living threads below a process, read in the kernel. Runs when its iterator is
 * read (bpf_iter_create), one record a thread.
 *
 * Numbers are read by plain loads, where BPF_CORE_READ is a call each; pointers by plain loads
 * where many numbers lie behind them: at each the verifier searches the kernel's types, 0.5 ms at
 * load.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "walk.h"

#define PIDTYPE_PGID 2
#define PIDTYPE_SID 3

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Everyone below this process is walked, itself left out; 0: everyone. */
const volatile __u32 root_tgid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} scratch SEC(".maps");

#include "peaks.h"
#include "sigchld.h"

enum place { ELSEWHERE, BELOW, TOO_DEEP };

static __always_inline enum place place_of(struct task_struct *task, __u32 root)
{
	struct task_struct *up;

	if (!root)
		return BELOW;
	up = BPF_CORE_READ(task, group_leader);
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		__u32 tgid;

		up = BPF_CORE_READ(up, real_parent);
		tgid = BPF_CORE_READ(up, tgid);
		if (tgid == root)
			return BELOW;
		if (tgid <= 1)
			return ELSEWHERE;
		up = BPF_CORE_READ(up, group_leader);
	}
	return TOO_DEEP;
}

static __always_inline void read_io(struct walked_io *io, const struct task_io_accounting *from)
{
	if (!bpf_core_field_exists(from->rchar) || !bpf_core_field_exists(from->read_bytes))
		return;
	io->rchar_bytes = from->rchar;
	io->wchar_bytes = from->wchar;
	io->syscr = from->syscr;
	io->syscw = from->syscw;
	io->read_bytes = from->read_bytes;
	io->write_bytes = from->write_bytes;
	io->cancelled_write_bytes = from->cancelled_write_bytes;
}

/* What the ended threads of a process left behind. */
static __always_inline void add_ended(struct walked *record, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;

	record->threads = signal->nr_threads;
	record->cpu_ns += signal->sum_sched_runtime;
	record->cpu_user_ns += signal->utime;
	record->cpu_system_ns += signal->stime;
	record->minflt += signal->min_flt;
	record->majflt += signal->maj_flt;
	record->nvcsw += signal->nvcsw;
	record->nivcsw += signal->nivcsw;
	record->children_user_ns = signal->cutime;
	record->children_system_ns = signal->cstime;
	record->children_minflt = signal->cmin_flt;
	record->children_majflt = signal->cmaj_flt;
	record->group = BPF_CORE_READ(signal, pids[PIDTYPE_PGID], numbers[0].nr);
	record->session = BPF_CORE_READ(signal, pids[PIDTYPE_SID], numbers[0].nr);
	if (waits_for_nobody(task))
		record->flags |= WALKED_SIGCHLD_IGNORED;
	read_io(&record->io_with_children, &signal->ioac);
}

struct pages {
	struct resident sum;
	__s64 swap;
	__u64 at[4];
	__u64 scratch_at;
};

static long add_cpu(__u32 cpu, struct pages *pages)
{
	__u32 zero = 0;
	void *there = bpf_map_lookup_percpu_elem(&scratch, &zero, cpu);
	__u64 offset;

	if (!there)
		return 1;
	offset = address_of(there) - pages->scratch_at;
	pages->sum.file += part_at(pages->at[MM_FILEPAGES] + offset);
	pages->sum.anon += part_at(pages->at[MM_ANONPAGES] + offset);
	pages->sum.shmem += part_at(pages->at[MM_SHMEMPAGES] + offset);
	pages->swap += part_at(pages->at[MM_SWAPENTS] + offset);
	return 0;
}

static __always_inline void sum_split(struct pages *pages, struct mm_struct *mm)
{
	struct bpf_array *array = (void *)address_of(&scratch);

	pages->sum.file = mm->rss_stat[MM_FILEPAGES].count;
	pages->sum.anon = mm->rss_stat[MM_ANONPAGES].count;
	pages->sum.shmem = mm->rss_stat[MM_SHMEMPAGES].count;
	pages->swap = mm->rss_stat[MM_SWAPENTS].count;
	pages->at[MM_FILEPAGES] = (__u64)BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].counters);
	pages->at[MM_ANONPAGES] = (__u64)BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].counters);
	pages->at[MM_SHMEMPAGES] = (__u64)BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].counters);
	pages->at[MM_SWAPENTS] = (__u64)BPF_CORE_READ(mm, rss_stat[MM_SWAPENTS].counters);
	pages->scratch_at = (__u64)BPF_CORE_READ(array, pptrs[0]);
	bpf_loop(CPUS_MAX, add_cpu, pages, 0);
}

static __always_inline void sum_whole(struct pages *pages, struct mm_struct *mm)
{
	struct mm_struct___old *old = (void *)mm;

	pages->sum.file = BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter);
	pages->sum.anon = BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter);
	pages->sum.shmem = BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter);
	pages->swap = BPF_CORE_READ(old, rss_stat.count[MM_SWAPENTS].counter);
}

static __always_inline void read_memory(struct walked *record, struct mm_struct *mm)
{
	struct pages pages = {};
	__u64 rss;

	if (bpf_core_field_exists(mm->rss_stat[0].counters))
		sum_split(&pages, mm);
	else
		sum_whole(&pages, mm);
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
	record->hiwater_rss_pages = mm->hiwater_rss;
	record->hiwater_vm_pages = mm->hiwater_vm;
	/* The kernel raises its high-water marks lazily. */
	if (rss > record->hiwater_rss_pages)
		record->hiwater_rss_pages = rss;
	if (record->total_vm_pages > record->hiwater_vm_pages)
		record->hiwater_vm_pages = record->total_vm_pages;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	__u32 state = bpf_core_field_exists(task->__state) ? task->__state
							    : task->state;

	return state | task->exit_state;
}

SEC("iter/task")
int walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct walked record = {};
	struct task_delay_info *delays;
	struct mm_struct *mm;
	enum place place;

	if (!task)
		return 0;
	place = place_of(task, root_tgid);
	if (place == ELSEWHERE)
		return 0;
	if (place == TOO_DEEP)
		record.flags |= WALKED_TOO_DEEP;
	record.tgid = task->tgid;
	record.pid = task->pid;
	record.parent_tgid = BPF_CORE_READ(task, real_parent, tgid);
	record.state = state_of(task);
	record.start_ns = task->start_boottime;
	record.cpu_ns = task->se.sum_exec_runtime;
	record.cpu_user_ns = task->utime;
	record.cpu_system_ns = task->stime;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		record.run_delay_ns = task->sched_info.run_delay;
	record.minflt = task->min_flt;
	record.majflt = task->maj_flt;
	record.nvcsw = task->nvcsw;
	record.nivcsw = task->nivcsw;
	delays = bpf_core_field_exists(task->delays) ? BPF_CORE_READ(task, delays) : NULL;
	if (delays)
		record.blkio_delay_ns = BPF_CORE_READ(delays, blkio_delay);
	if (bpf_core_field_exists(task->io_uring) && task->io_uring)
		record.flags |= WALKED_IO_URING;
	read_io(&record.io, &task->ioac);
	BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
	if (record.pid == record.tgid)
		add_ended(&record, task);
	mm = task->mm;
	if (mm && (record.pid == record.tgid || !BPF_CORE_READ(task, group_leader, mm)))
		read_memory(&record, mm);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
