/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names that a task removes, changes or truncates a file by, told as the calls say them: a path and
 * the folder from which it leads. The reader joins them.
 */
#ifndef PLIMSOLL_IO_NAMES_H
#define PLIMSOLL_IO_NAMES_H

/* linux/fcntl.h, linux/fs.h; never renumbered. */
#define AT_FDCWD -100
#define AT_REMOVEDIR 0x200u
#define RENAME_EXCHANGE 2u

/* Two paths are too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_name);
} name_scratch SEC(".maps");

/* The folder from which a path leads: its id, or 0 if it cannot be had. Puts it down in the thread;
 * to tell of it here as well would take a deeper stack than older kernels have. */
__attribute__((noinline)) __u64 find_base(struct io_thread *thread, __s32 fd, __u32 first)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_struct *fs = ((struct task_struct___io *)task)->fs;
	__u64 dentry, mount;
	struct file *file;

	if (!thread)
		return 0;
	if (first == '/') {
		dentry = (__u64)BPF_CORE_READ(fs, root.dentry);
		mount = (__u64)BPF_CORE_READ(fs, root.mnt);
	} else if (fd == AT_FDCWD) {
		dentry = (__u64)BPF_CORE_READ(fs, pwd.dentry);
		mount = (__u64)BPF_CORE_READ(fs, pwd.mnt);
	} else {
		file = file_of(task, fd);
		if (!file)
			return 0;
		dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
		mount = (__u64)BPF_CORE_READ(file, f_path.mnt);
	}
	if (!dentry)
		return 0;
	thread->base.dentry = dentry;
	thread->base.mount = mount;
	return folder_id(thread, dentry, mount);
}

/* Tells the thread's runs of that folder. */
static __always_inline __u64 tell_base(struct io_thread *thread, __s32 fd, __u32 first)
{
	__u64 id = find_base(thread, fd, first);

	if (id)
		tell_folder(thread, id, thread->base.dentry, thread->base.mount);
	return id;
}

/* Puts the paths of a call into the event. Whether it could. */
static __always_inline bool read_paths(struct io_thread *thread, struct event_name *event,
				       struct name_call *call)
{
	__s64 bytes = bpf_probe_read_user_str(event->text, CALL_PATH_BYTES_MAX, (void *)call->path);

	if (bytes < 2 || bytes > CALL_PATH_BYTES_MAX)
		return false;
	event->bytes = bytes;
	event->to_bytes = 0;
	event->to_folder = 0;
	event->folder = tell_base(thread, call->folder, event->text[0]);
	if (!event->folder)
		return false;
	if (!call->to)
		return true;
	/* The verifier has forgotten the bound: state it once more, unseen by clang. */
	barrier_var(bytes);
	if (bytes < 0 || bytes > CALL_PATH_BYTES_MAX)
		return false;
	event->to_bytes = bpf_probe_read_user_str(event->text + bytes, CALL_PATH_BYTES_MAX,
						  (void *)call->to);
	if ((__s32)event->to_bytes < 2)
		return false;
	event->to_folder = tell_base(thread, call->to_folder, event->text[bytes]);
	return event->to_folder;
}

static __always_inline bool emit_name(struct io_run *run, struct event_name *event)
{
	__u32 slot = run->id % RUN_SLOTS;
	void *ring = bpf_map_lookup_elem(&io_rings, &slot);
	__u64 size = __builtin_offsetof(struct event_name, text) + event->bytes + event->to_bytes;

	barrier_var(size);
	if (size > sizeof(*event))
		size = sizeof(*event);
	return ring && !bpf_ringbuf_output(ring, event, size, wake_flag(ring));
}

/* Global: the verifier checks it once. */
__attribute__((noinline)) int tell_name(struct io_thread *thread)
{
	struct event_name *event;
	__u32 zero = 0;
	bool whole;

	event = bpf_map_lookup_elem(&name_scratch, &zero);
	if (!thread || !event)
		return 0;
	event->id = EVENT_NAME;
	event->at_ns = bpf_ktime_get_boot_ns();
	event->tgid = thread->process.tgid;
	event->change = thread->name.change;
	if (event->change != NAME_REMOVED && event->change != NAME_TRUNCATED)
		note_move();
	whole = read_paths(thread, event, &thread->name);
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run;

		if (!thread->runs[i])
			break;
		run = io_run_of(thread->runs[i]);
		if (run && !(whole && emit_name(run, event)))
			__sync_fetch_and_add(&run->names_lost, 1);
	}
	return 0;
}

/* A call that changed a name and did not fail. Its arguments go into the thread: the stack is
 * short. */
static __always_inline int count_name(struct io_thread *thread, struct pt_regs *regs, __u64 nr)
{
	struct name_call *call = &thread->name;

	call->path = CALL_ARG1(regs);
	call->folder = CALL_ARG0(regs);
	call->to = 0;
	call->change = NAME_REMOVED;
	switch (nr) {
#ifdef NR_UNLINK
	case NR_UNLINK:
	case NR_RMDIR:
		call->path = CALL_ARG0(regs);
		call->folder = AT_FDCWD;
		if (nr == NR_RMDIR)
			call->change = NAME_FOLDER_REMOVED;
		break;
	case NR_RENAME:
		call->path = CALL_ARG0(regs);
		call->to = CALL_ARG1(regs);
		call->folder = call->to_folder = AT_FDCWD;
		call->change = NAME_RENAMED;
		break;
#endif
	case NR_TRUNCATE:
		call->path = CALL_ARG0(regs);
		call->folder = AT_FDCWD;
		call->change = NAME_TRUNCATED;
		break;
	case NR_UNLINKAT:
		if (CALL_ARG2(regs) & AT_REMOVEDIR)
			call->change = NAME_FOLDER_REMOVED;
		break;
	case NR_RENAMEAT:
	case NR_RENAMEAT2:
		call->to_folder = CALL_ARG2(regs);
		call->to = CALL_ARG3(regs);
		call->change = NAME_RENAMED;
		if (nr == NR_RENAMEAT2 && CALL_ARG4(regs) & RENAME_EXCHANGE)
			call->change = NAME_EXCHANGED;
		break;
	}
	return tell_name(thread);
}

#endif
