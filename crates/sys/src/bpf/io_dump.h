/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What living threads counted that is in no row yet. */
#ifndef PLIMSOLL_IO_DUMP_H
#define PLIMSOLL_IO_DUMP_H

/* A row that has only the thread's pages. */
static __always_inline void dump_pages(struct seq_file *seq, struct io_thread *thread,
				       struct dumped *head)
{
	struct io_pages *pages = &thread->pages;
	__u32 counts[4] = {
		pages->in > pages->dirtied ? pages->in - pages->dirtied : 0,
		pages->dirtied, pages->mapped_in, pages->mapped_dirtied,
	};

	head->file.inode = pages->inode;
	head->file.device = pages->device;
	head->file.generation = pages->generation;
	head->file.name = ANY_NAME;
	bpf_seq_write(seq, head, sizeof(*head));
	bpf_seq_write(seq, (void *)&empty_row, __builtin_offsetof(struct row, pages_in));
	bpf_seq_write(seq, counts, sizeof(counts));
	bpf_seq_write(seq, (void *)&empty_row.size_first_bytes,
		      sizeof(struct row) - __builtin_offsetof(struct row, size_first_bytes));
}

SEC("iter/task")
int dump_slots(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct io_thread *thread;

	if (!task)
		return 0;
	thread = bpf_task_storage_get(&io_threads, task, 0, 0);
	if (!thread)
		return 0;
	for (__u32 index = 0; index < IO_SLOTS; index++) {
		struct io_slot *slot = &thread->slots[index];
		struct dumped head = {
			.process_ns = thread->process.start_ns,
			.file = slot->id,
			.tgid = thread->process.tgid,
		};

		if (!slot->row.first_ns)
			continue;
		__builtin_memcpy(head.runs, thread->runs, sizeof(head.runs));
		bpf_seq_write(ctx->meta->seq, &head, sizeof(head));
		bpf_seq_write(ctx->meta->seq, &slot->row, sizeof(slot->row));
	}
	if (thread->pages.inode) {
		struct dumped head = {
			.process_ns = thread->process.start_ns,
			.tgid = thread->process.tgid,
		};

		__builtin_memcpy(head.runs, thread->runs, sizeof(head.runs));
		dump_pages(ctx->meta->seq, thread, &head);
	}
	return 0;
}

#endif
