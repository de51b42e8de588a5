// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One pass over the living threads below a process, read in the kernel. Runs when its iterator is
 * read (bpf_iter_create), one record a thread.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "walk.h"
#include "read.h"
#include "walk_read.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Everyone below this process is walked, itself left out; 0: everyone. */
const volatile __u32 root_tgid = 0;

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

SEC("iter/task")
int walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct walked *record;
	enum place place;
	__u32 zero = 0;

	if (!task)
		return 0;
	place = place_of(task, root_tgid);
	if (place == ELSEWHERE)
		return 0;
	record = bpf_map_lookup_elem(&scratch, &zero);
	if (!record)
		return 0;
	find_cpus();
	__builtin_memset(record, 0, sizeof(*record));
	if (place == TOO_DEEP)
		record->flags |= WALKED_TOO_DEEP;
	read_identity(record, task);
	add_thread(record, task);
	if (record->pid == record->tgid)
		add_ended(record, task);
	if (record->pid == record->tgid || !task->group_leader->mm)
		read_memory(record, task);
	bpf_seq_write(ctx->meta->seq, record, sizeof(*record));
	return 0;
}
