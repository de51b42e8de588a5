/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread used, added to what its process did. */
#ifndef PLIMSOLL_COUNTERS_H
#define PLIMSOLL_COUNTERS_H

static __always_inline bool counts_io(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.rchar) &&
	       bpf_core_field_exists(task->ioac.read_bytes);
}

/* NULL while delay accounting is off. */
static __always_inline struct task_delay_info *delays_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->delays) ? READ_MEMBER(task_struct, task, delays) : NULL;
}

static __always_inline void add_counters(struct counters *sum, struct task_struct *task)
{
	struct task_delay_info *delays;

	__sync_fetch_and_add(&sum->cpu_ns, task->se.sum_exec_runtime);
	__sync_fetch_and_add(&sum->cpu_user_ns, task->utime);
	__sync_fetch_and_add(&sum->cpu_system_ns, task->stime);
	if (bpf_core_field_exists(task->sched_info.run_delay))
		__sync_fetch_and_add(&sum->run_delay_ns, task->sched_info.run_delay);
	delays = delays_of(task);
	if (delays)
		__sync_fetch_and_add(&sum->blkio_delay_ns, READ_MEMBER(task_delay_info, delays, blkio_delay));
	__sync_fetch_and_add(&sum->minflt, task->min_flt);
	__sync_fetch_and_add(&sum->majflt, task->maj_flt);
	__sync_fetch_and_add(&sum->nvcsw, task->nvcsw);
	__sync_fetch_and_add(&sum->nivcsw, task->nivcsw);
	if (!counts_io(task))
		return;
	/* Not signal->ioac: that holds the children that were waited for as well. */
	__sync_fetch_and_add(&sum->rchar_bytes, task->ioac.rchar);
	__sync_fetch_and_add(&sum->wchar_bytes, task->ioac.wchar);
	__sync_fetch_and_add(&sum->syscr, task->ioac.syscr);
	__sync_fetch_and_add(&sum->syscw, task->ioac.syscw);
	__sync_fetch_and_add(&sum->read_bytes, task->ioac.read_bytes);
	__sync_fetch_and_add(&sum->write_bytes, task->ioac.write_bytes);
	__sync_fetch_and_add(&sum->cancelled_write_bytes, task->ioac.cancelled_write_bytes);
}

#endif
