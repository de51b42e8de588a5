/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What goes through an io_uring, counted as it completes: in the thread that submitted it, or in a
 * worker of its process, which is no member itself.
 */
#ifndef PLIMSOLL_IO_URING_H
#define PLIMSOLL_IO_URING_H

/* linux/io_uring.h; never renumbered. */
#define IORING_OP_READV 1
#define IORING_OP_WRITEV 2
#define IORING_OP_READ_FIXED 4
#define IORING_OP_WRITE_FIXED 5
#define IORING_OP_SENDMSG 9
#define IORING_OP_RECVMSG 10
#define IORING_OP_OPENAT 18
#define IORING_OP_READ 22
#define IORING_OP_WRITE 23
#define IORING_OP_SEND 26
#define IORING_OP_RECV 27
#define IORING_OP_OPENAT2 28
#define IORING_OP_SPLICE 30
#define IORING_OP_TEE 33
#define IORING_OP_SEND_ZC 47
#define IORING_OP_SENDMSG_ZC 48
#define IORING_OP_READV_FIXED 60
#define IORING_OP_WRITEV_FIXED 61
#define IORING_OPS 64

static const __u8 uring_actions[IORING_OPS] = {
	[IORING_OP_READV] = READ, [IORING_OP_READ_FIXED] = READ, [IORING_OP_READ] = READ,
	[IORING_OP_READV_FIXED] = READ, [IORING_OP_RECVMSG] = READ, [IORING_OP_RECV] = READ,
	[IORING_OP_WRITEV] = WRITE, [IORING_OP_WRITE_FIXED] = WRITE, [IORING_OP_WRITE] = WRITE,
	[IORING_OP_WRITEV_FIXED] = WRITE, [IORING_OP_SENDMSG] = WRITE, [IORING_OP_SEND] = WRITE,
	[IORING_OP_SENDMSG_ZC] = WRITE, [IORING_OP_SEND_ZC] = WRITE,
	[IORING_OP_OPENAT] = OPEN, [IORING_OP_OPENAT2] = OPEN,
	[IORING_OP_SPLICE] = COPY, [IORING_OP_TEE] = COPY,
};

/* Of the file that is moved from, a place in the ring's own table. */
#define SPLICE_F_FD_IN_FIXED (1u << 31)

/*
 * Counts one completed request in a thread's place that nobody else uses now; its first slot names
 * the file.
 */
__attribute__((noinline)) int count_request(struct io_thread *thread, __u32 action, __s64 result)
{
	struct io_slot *slot;

	if (!thread)
		return 0;
	slot = &thread->slots[0];
	take_file(thread, 0);
	if (action == OPEN)
		count_open(slot, thread->open_flags);
	else
		count_transfer(thread, slot, action == READ, result);
	return put_down(thread, 0);
}

/* The file that a request opened; NULL if only the ring's own table has it. */
static __always_inline struct file *opened_by(struct io_kiocb *request, struct io_thread *thread,
					      __s64 result)
{
	struct io_open *open = (struct io_open *)request;

	if (result < 0 || READ_MEMBER(io_open, open, file_slot))
		return NULL;
	thread->open_flags = READ_MEMBER(io_open, open, how.flags);
	return file_of(bpf_get_current_task_btf(), result);
}

/* The file that a request moved bytes from. */
static __always_inline struct file *moved_from(struct io_kiocb *request)
{
	struct io_splice *splice = (struct io_splice *)request;

	if (READ_MEMBER(io_splice, splice, flags) & SPLICE_F_FD_IN_FIXED)
		return NULL;
	return file_of(bpf_get_current_task_btf(), READ_MEMBER(io_splice, splice, splice_fd_in));
}

/* Global: the verifier checks it once. */
__attribute__((noinline)) int count_completed(struct io_thread *thread, __u64 of, __s64 result)
{
	struct io_kiocb *request = (struct io_kiocb *)of;
	struct file *file;
	__u32 opcode, action;

	if (!thread || !request)
		return 0;
	opcode = READ_MEMBER(io_kiocb, request, opcode);
	if (opcode >= IORING_OPS)
		return 0;
	/* The verifier forgot the bound: state it once more, unseen by clang. */
	barrier_var(opcode);
	action = uring_actions[opcode & (IORING_OPS - 1)];
	if (action == NOTHING)
		return 0;
	find_runs(thread);
	if (!thread->runs[0])
		return 0;
	file = action == OPEN ? opened_by(request, thread, result)
			      : READ_MEMBER(io_kiocb, request, file);
	if (action == COPY) {
		thread->slots[0].file = (__u64)moved_from(request);
		if (thread->slots[0].file)
			count_request(thread, READ, result);
		action = WRITE;
	}
	if (!file)
		return 0;
	thread->slots[0].file = (__u64)file;
	return count_request(thread, action, result);
}

static __always_inline int complete(struct io_kiocb *request, __s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_key *key = key_of(task);
	struct io_thread *thread;
	__u32 zero = 0;

	if (!key)
		key = key_of(task->group_leader);
	if (!key || !request)
		return 0;
	thread = bpf_map_lookup_elem(&uring_scratch, &zero);
	if (!thread)
		return 0;
	thread->process = *key;
	return count_completed(thread, (__u64)request, result);
}

/* (context, request, completion) */
SEC("tp_btf/io_uring_complete")
int on_uring_complete(__u64 *ctx)
{
	struct io_uring_cqe *completion = (struct io_uring_cqe *)ctx[2];

	return complete((struct io_kiocb *)ctx[1], completion->res);
}

/* (context, request, user_data, result, ...): before the completion itself was passed. */
SEC("tp_btf/io_uring_complete")
int on_uring_complete_old(__u64 *ctx)
{
	return complete((struct io_kiocb *)ctx[1], (__s32)ctx[3]);
}

#endif
