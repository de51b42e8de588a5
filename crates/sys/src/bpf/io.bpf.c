// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The files of a task: what each of its threads read and wrote where, counted as the calls return.
 *
 * A thread counts for itself, in its task storage: nobody else writes there, so no addition needs
 * to be atomic, and a file that is read again and again costs no search. What it counted goes to
 * the table of rows when another file takes its place, and at its end. Rows are by thread as well;
 * the reader adds them up. It takes whole epochs: a run's epoch goes on, calls under way end, and
 * then the rows of past epochs stand still.
 */
#include "kernel_io.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "maps.h"
#include "read.h"
#include "io.h"
#include "io_maps.h"
#include "io_arch.h"
#include "io_socket.h"
#include "io_file.h"
#include "io_row.h"
#include "io_pages.h"
#include "io_names.h"
#include "io_thread.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum action {
	NOTHING,
	READ,
	WRITE,
	OPEN,
	CLOSE,
	SEEK,
	MAP,
	CUT,  /* ftruncate */
	NAME, /* of a file, changed or removed */
	SEND_TO, /* an address is the fifth argument */
	SEND_MESSAGE,
	SEND, /* from the second descriptor to the first */
	COPY, /* from the first to the third */
	TEE,  /* from the first to the second */
	RECEIVE, /* flags are the fourth argument, an address the fifth */
	RECEIVE_MESSAGE, /* flags are the third */
	RECEIVE_MESSAGES, /* flags are the fourth */
	SEND_MESSAGES,
	AIO,
	MOVE, /* of folders, by mounting */
};

static const __u8 actions[NR_LIMIT] = {
#ifdef NR_OPEN
	[NR_OPEN] = OPEN, [NR_CREAT] = OPEN,
	[NR_UNLINK] = NAME, [NR_RMDIR] = NAME, [NR_RENAME] = NAME,
#endif
	[NR_OPENAT] = OPEN, [NR_OPENAT2] = OPEN, [NR_CLOSE] = CLOSE,
	[NR_READ] = READ, [NR_PREAD64] = READ, [NR_READV] = READ,
	[NR_PREADV] = READ, [NR_PREADV2] = READ,
	[NR_WRITE] = WRITE, [NR_PWRITE64] = WRITE, [NR_WRITEV] = WRITE,
	[NR_PWRITEV] = WRITE, [NR_PWRITEV2] = WRITE,
	[NR_RECVFROM] = RECEIVE, [NR_RECVMSG] = RECEIVE_MESSAGE,
	[NR_RECVMMSG] = RECEIVE_MESSAGES, [NR_SENDMMSG] = SEND_MESSAGES,
	[NR_SENDTO] = SEND_TO, [NR_SENDMSG] = SEND_MESSAGE,
	[NR_LSEEK] = SEEK, [NR_MMAP] = MAP, [NR_FTRUNCATE] = CUT,
	[NR_UNLINKAT] = NAME, [NR_RENAMEAT] = NAME, [NR_RENAMEAT2] = NAME, [NR_TRUNCATE] = NAME,
	[NR_SENDFILE] = SEND, [NR_COPY_FILE_RANGE] = COPY, [NR_SPLICE] = COPY, [NR_TEE] = TEE,
	[NR_IO_SUBMIT] = AIO,
	[NR_MOUNT] = MOVE, [NR_PIVOT_ROOT] = MOVE, [NR_MOVE_MOUNT] = MOVE,
};

/*
 * Finds out about the file that was put into a slot. A function of its own: its callers' stack is
 * short.
 */
__attribute__((noinline)) int take_file(struct io_thread *thread, __u32 index)
{
	struct dentry *dentry;
	struct io_slot *slot;
	struct file *file;
	__u32 flags;

	if (!thread || index >= IO_SLOTS)
		return 0;
	slot = &thread->slots[index];
	file = (struct file *)slot->file;
	if (!file)
		return 0;
	dentry = READ_MEMBER(file, file, f_path.dentry);
	flags = READ_MEMBER(file, file, f_flags);
	slot->dentry = (__u64)dentry;
	slot->name = READ_MEMBER(dentry, dentry, d_name.hash_len);
	describe(thread, slot, READ_MEMBER(file, file, f_inode), dentry,
		 READ_MEMBER(file, file, f_path.mnt));
	slot->row.flags |= opened_to(READ_MEMBER(file, file, f_mode));
	if (flags & FLAG_APPEND)
		slot->row.flags |= ROW_APPENDED;
	if (flags & FLAG_DIRECT)
		slot->row.flags |= ROW_DIRECT;
	slot->row.last_jiffies = bpf_jiffies64();
	return 0;
}

/*
 * Whether what the slot has is this open file. One that was closed elsewhere leaves its memory, and
 * that of its dentry, to the next.
 */
static __always_inline bool is_of(struct io_slot *slot, struct file *file)
{
	struct dentry *dentry;
	struct inode *inode;

	if (slot->file != (__u64)file)
		return false;
	dentry = READ_MEMBER(file, file, f_path.dentry);
	inode = READ_MEMBER(file, file, f_inode);
	return slot->dentry == (__u64)dentry &&
	       slot->name == READ_MEMBER(dentry, dentry, d_name.hash_len) &&
	       slot->id.inode == READ_MEMBER(inode, inode, i_ino) &&
	       slot->id.generation == READ_MEMBER(inode, inode, i_generation);
}

/* The slot for a descriptor, with its file in it. */
static __always_inline struct io_slot *take_up(struct io_thread *thread, __u32 fd)
{
	struct file *file = file_of(bpf_get_current_task_btf(), fd);
	__u32 index = fd & (IO_SLOTS - 1);
	struct io_slot *slot = &thread->slots[index];

	if (!file)
		return NULL;
	if (!is_of(slot, file)) {
		put_down(thread, index);
		slot->file = (__u64)file;
		take_file(thread, index);
	}
	slot->row.last_jiffies = bpf_jiffies64();
	return slot;
}

/* In front of the other programs: the one that some kernels refuse is loaded first. */
#include "io_exec.h"
#include "io_datagram.h"

static __always_inline void count_transfer(struct io_thread *thread, struct io_slot *slot,
					   bool is_read, __s64 result)
{
	struct exact_size size, left;
	struct row *row = &slot->row;

	if (is_read)
		row->reads++;
	else
		row->writes++;
	if (result < 0) {
		row->failed++;
		if (!is_read && (result == -ENOSPC || result == -EDQUOT))
			row->no_space++;
		return;
	}
	if (is_read) {
		row->bytes_read += result;
	} else {
		row->bytes_written += result;
		look_at(row, (struct file *)slot->file);
	}
	/* Most often it is the size of the first call. */
	if (row->sizes[0].bytes == (__u32)result) {
		if (is_read)
			row->sizes[0].reads++;
		else
			row->sizes[0].writes++;
		return;
	}
	size.bytes = result;
	size.reads = is_read;
	size.writes = !is_read;
	if (count_size(row, &size, &left))
		leave_size(thread, slot, &left);
}

/* `peer` leads to the address of the other end, if the call has one. Global: the verifier checks it
 * once. */
__attribute__((noinline)) int transfer(struct io_thread *thread, __u32 fd, __u32 how, __s64 result,
				       __u64 peer)
{
	bool is_read = how & TRANSFER_READS;
	struct io_slot *slot;

	if (!thread)
		return 0;
	slot = take_up(thread, fd);
	if (!slot)
		return 0;
	if (thread->times)
		slot->row.time_ns += bpf_ktime_get_ns() - thread->entered_ns;
	count_transfer(thread, slot, is_read, result);
	if (peer && slot->row.flags & ROW_ENDS_UNKNOWN && result > 0)
		count_datagram(slot, how, result, peer);
	if (thread->pages.inode)
		take_pages(thread, slot, is_read);
	return 0;
}

/* `asked` are the flags of the call: the kernel keeps all but O_TRUNC. */
static __always_inline void count_open(struct io_slot *slot, __u64 asked)
{
	struct file *file = (struct file *)slot->file;
	__u32 mode = READ_MEMBER(file, file, f_mode);
	__u32 flags = READ_MEMBER(file, file, f_flags);

	slot->row.opens++;
	look_at(&slot->row, file);
	/* A new open file may lie where the slot's last one did. */
	slot->row.flags |= opened_to(mode);
	if (mode & FMODE_CREATED)
		slot->row.flags |= ROW_CREATED;
	if (asked & FLAG_TRUNC) {
		slot->row.flags |= ROW_TRUNCATED;
		/* The row is of this open alone, and the file is cut by now. */
		if (!(mode & FMODE_CREATED))
			slot->row.size_first_bytes = SIZE_UNKNOWN;
	}
	if (flags & FLAG_TMPFILE)
		slot->row.flags |= ROW_CREATED;
}

__attribute__((noinline)) int touch(struct io_thread *thread, __u32 fd, __u32 action)
{
	__u32 index = fd & (IO_SLOTS - 1);
	struct io_slot *slot;
	struct file *file;

	if (!thread)
		return 0;
	/* What was opened now is none that was there before. */
	if (action == OPEN)
		thread->slots[index].file = 0;
	slot = take_up(thread, fd);
	if (!slot)
		return 0;
	if (thread->times && action != CLOSE)
		slot->row.time_ns += bpf_ktime_get_ns() - thread->entered_ns;
	file = (struct file *)slot->file;
	switch (action) {
	case SEEK:
		slot->row.seeks++;
		break;
	case MAP:
		slot->row.flags |= ROW_MAPPED;
		break;
	case CUT:
		slot->row.flags |= ROW_TRUNCATED;
		look_at(&slot->row, file);
		break;
	case CLOSE:
		slot->row.closes++;
		look_at(&slot->row, file);
		if (slot->row.flags & ROW_FOLDER_LOST)
			tell_again(thread, index);
		if ((slot->row.mode & S_IFMT) == S_IFSOCK)
			leave_socket(slot->file, slot->id.inode);
		/* The next one may get its memory. */
		slot->file = 0;
		break;
	case OPEN:
		count_open(slot, thread->open_flags);
		if (slot->row.size_first_bytes == SIZE_UNKNOWN &&
		    thread->cut_inode == slot->id.inode)
			slot->row.size_first_bytes = thread->cut_bytes;
		thread->cut_inode = 0;
		break;
	}
	return 0;
}

/* What a call of the open family asked for. */
static __always_inline __u64 open_flags(struct pt_regs *regs, __u64 nr)
{
	__u64 flags = 0;

	switch (nr) {
#ifdef NR_OPEN
	case NR_OPEN:
		return CALL_ARG1(regs);
	case NR_CREAT:
		return FLAG_TRUNC;
#endif
	case NR_OPENAT2:
		/* The first member of struct open_how. */
		bpf_probe_read_user(&flags, sizeof(flags), (void *)CALL_ARG2(regs));
		return flags;
	}
	return CALL_ARG2(regs);
}

/* Calls that the runs of a thread cannot see. */
__attribute__((noinline)) int count_unseen(struct io_thread *thread, __u32 compat)
{
	if (!thread)
		return 0;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run;

		if (!thread->runs[i])
			break;
		run = io_run_of(thread->runs[i]);
		if (run)
			__sync_fetch_and_add(compat ? &run->compat_calls : &run->libaio_calls, 1);
	}
	return 0;
}

static __always_inline int count_compat(struct task_struct *task)
{
	struct io_thread *thread = thread_of(task);

	return thread ? count_unseen(thread, true) : 0;
}

/* (regs, result) */
SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	__s64 result = ctx[1];
	__u64 nr = CALL_NR(regs);
	struct io_thread *thread;
	struct task_struct *task;
	__u32 action;

	if (nr >= NR_LIMIT)
		return 0;
	task = bpf_get_current_task_btf();
	if (IS_COMPAT(task))
		return compat_moves(nr) ? count_compat(task) : 0;
	action = actions[nr];
	if (action == NOTHING || action == CLOSE)
		return 0;
	thread = thread_of(task);
	if (!thread)
		return 0;
	switch (action) {
	case READ:
		return transfer(thread, CALL_ARG0(regs), TRANSFER_READS, result, 0);
	case WRITE:
		return transfer(thread, CALL_ARG0(regs), 0, result, 0);
	case SEND:
		transfer(thread, CALL_ARG1(regs), TRANSFER_READS, result, 0);
		return transfer(thread, CALL_ARG0(regs), 0, result, 0);
	case COPY:
		transfer(thread, CALL_ARG0(regs), TRANSFER_READS, result, 0);
		return transfer(thread, CALL_ARG2(regs), 0, result, 0);
	case TEE:
		transfer(thread, CALL_ARG0(regs), TRANSFER_READS, result, 0);
		return transfer(thread, CALL_ARG1(regs), 0, result, 0);
	case SEND_TO:
		return transfer(thread, CALL_ARG0(regs), 0, result, CALL_ARG4(regs));
	case SEND_MESSAGE:
		return transfer(thread, CALL_ARG0(regs), TRANSFER_BY_HEADER, result, CALL_ARG1(regs));
	case SEND_MESSAGES:
		return count_messages(thread, CALL_ARG0(regs), CALL_ARG1(regs), 0, result);
	case RECEIVE:
	case RECEIVE_MESSAGE:
	case RECEIVE_MESSAGES:
		return receive(thread, regs, action, result);
	case SEEK:
		return touch(thread, CALL_ARG0(regs), SEEK);
	case OPEN:
		if (result < 0)
			return 0;
		thread->open_flags = open_flags(regs, nr);
		return touch(thread, result, OPEN);
	case MAP:
		return IS_ERROR(result) ? 0 : touch(thread, CALL_ARG4(regs), MAP);
	case CUT:
		return result >= 0 ? touch(thread, CALL_ARG0(regs), CUT) : 0;
	case NAME:
		return result >= 0 ? count_name(thread, regs, nr) : 0;
	case AIO:
		return count_unseen(thread, false);
	case MOVE:
		note_move();
		return 0;
	}
	return 0;
}

/* Looks at a file before something is written. Global: the verifier checks it once. */
__attribute__((noinline)) int meet(struct io_thread *thread, __u32 fd)
{
	return thread && take_up(thread, fd);
}

/* (regs, number): what is closed is gone when the call returns, and what is written has another
 * size. */
SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct io_thread *thread;
	__u64 nr = ctx[1];
	__u32 action;

	if (nr >= NR_LIMIT)
		return 0;
	action = actions[nr];
	if (action != CLOSE && action != WRITE && action != SEND_TO && action != SEND_MESSAGE &&
	    action != SEND && action != COPY && action != CUT)
		return 0;
	thread = thread_of(bpf_get_current_task_btf());
	if (!thread || IS_COMPAT(bpf_get_current_task_btf()))
		return 0;
	if (action == CLOSE)
		return touch(thread, CALL_ARG0(regs), CLOSE);
	return meet(thread, action == COPY ? CALL_ARG2(regs) : CALL_ARG0(regs));
}

/* The same, attached while somebody asks for the time that calls take. */
SEC("tp_btf/sys_enter")
int on_call_begin(__u64 *ctx)
{
	struct io_thread *thread = thread_of(bpf_get_current_task_btf());

	if (thread && thread->times)
		thread->entered_ns = bpf_ktime_get_ns();
	return 0;
}

/* (task, ...), once a thread. */
SEC("tp_btf/sched_process_exit")
int on_thread_end(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct io_thread *thread = bpf_task_storage_get(&io_threads, task, 0, 0);

	if (!thread)
		return 0;
	for (__u32 index = 0; index < IO_SLOTS; index++)
		put_down(thread, index);
	put_pages(thread);
	return 0;
}

static __always_inline int told_pages(struct folio *folio, bool dirtied)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_thread *thread = thread_of(task);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	/* An exec reads the start of its file before it is told, and far ahead. */
	if (!thread && (CALL_NR(regs) == NR_EXECVE || CALL_NR(regs) == NR_EXECVEAT)) {
		thread = bpf_task_storage_get(&io_threads, task, 0, 0);
		if (thread && !(thread->waits && thread->runs[0]))
			return 0;
	}
	if (!thread)
		return 0;
	thread->pages.folio = (__u64)folio;
	barrier();
	return count_pages(thread, dirtied, IS_IN_CALL(regs));
}

/* (mount's user ids, dentry, length, ...): before a file is cut. Only where the kernel has such
 * programs (fentry). */
SEC("fentry/do_truncate")
int on_cut(__u64 *ctx)
{
	struct io_thread *thread = thread_of(bpf_get_current_task_btf());
	struct inode *inode;

	if (!thread)
		return 0;
	inode = BPF_CORE_READ((struct dentry *)ctx[1], d_inode);
	thread->cut_inode = BPF_CORE_READ(inode, i_ino);
	thread->cut_bytes = BPF_CORE_READ(inode, i_size);
	return 0;
}

/* (folio) */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int on_page_in(__u64 *ctx)
{
	return told_pages((struct folio *)ctx[0], false);
}

/* (folio, mapping) */
SEC("tp_btf/writeback_dirty_folio")
int on_page_dirty(__u64 *ctx)
{
	return told_pages((struct folio *)ctx[0], true);
}

#include "io_uring.h"
#include "io_dump.h"
