/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The files that an exec runs: the program, its dynamic linker, the scripts that named it.
 *
 * Each file that the kernel tries is looked at by its security modules first, a script before its
 * interpreter. The exec lets go of a script before it is told, but the kernel frees what a task
 * lets go of in a system call only as it returns from that: until then the file is whole.
 */
#ifndef PLIMSOLL_IO_EXEC_H
#define PLIMSOLL_IO_EXEC_H

struct place {
	__u64 dentry;
	__u64 mount;
	__u64 file; /* 0: that of the place is not known */
};

/* Counts that the thread's process runs a file. Global: the verifier checks it once. */
__attribute__((noinline)) int count_execution(struct io_thread *thread, struct place *place)
{
	struct dentry *dentry;
	struct inode *inode;
	struct io_slot *slot;

	if (!thread || !place || !place->dentry)
		return 0;
	dentry = (struct dentry *)place->dentry;
	put_down(thread, IO_SLOTS - 1);
	slot = &thread->slots[IO_SLOTS - 1];
	inode = READ_MEMBER(dentry, dentry, d_inode);
	slot->name = READ_MEMBER(dentry, dentry, d_name.hash_len);
	slot->file = place->file;
	describe(thread, slot, inode, dentry, (struct vfsmount *)place->mount);
	look_at_inode(&slot->row, inode);
	slot->row.last_jiffies = bpf_jiffies64();
	slot->row.executions = 1;
	put_down(thread, IO_SLOTS - 1);
	return 0;
}

static __always_inline void place_of(struct place *place, struct file *file)
{
	place->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	place->mount = (__u64)BPF_CORE_READ(file, f_path.mnt);
	place->file = (__u64)file;
}

/* (bprm): a file that is to be executed, before it is known whether it can be. Only where the
 * kernel has such programs (fentry). */
SEC("fentry/security_bprm_check")
int on_script(__u64 *ctx)
{
	struct linux_binprm___io *bprm = (struct linux_binprm___io *)ctx[0];
	/* Also of a process that counts from its exec on: it is this one. */
	struct io_thread *thread = place_for(bpf_get_current_task_btf());
	__u64 file;

	if (!thread)
		return 0;
	file = (__u64)BPF_CORE_READ(bprm, file);
	if (BPF_CORE_READ(bprm, interp) == BPF_CORE_READ(bprm, filename))
		__builtin_memset(thread->scripts, 0, sizeof(thread->scripts));
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		if (!thread->scripts[i]) {
			thread->scripts[i] = file;
			break;
		}
	}
	return 0;
}

static long place_of_area(struct task_struct *task, struct vm_area_struct *area,
			  struct place *place)
{
	struct file *file = BPF_CORE_READ(area, vm_file);
	struct backing_file *below = (struct backing_file *)file;
	struct dentry *above;

	if (!file)
		return 0;
	place_of(place, file);
	if (!bpf_core_field_exists(below->user_path))
		return 0;
	/* Since 6.8 what is mapped of overlayfs is a file below it, which knows the one above. The flag
	 * that says so was renumbered; behind other files lies none that leads to overlayfs. */
	above = BPF_CORE_READ(below, user_path.dentry);
	if (BPF_CORE_READ(above, d_inode, i_sb, s_magic) == OVERLAYFS_MAGIC) {
		place->dentry = (__u64)above;
		place->mount = (__u64)BPF_CORE_READ(below, user_path.mnt);
		place->file = 0;
	}
	return 0;
}

/* (task, old_pid, linux_binprm), in the context of the task, its new memory in place. */
SEC("tp_btf/sched_process_exec")
int on_program(__u64 *ctx)
{
	struct linux_binprm___io *bprm = (struct linux_binprm___io *)ctx[2];
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct io_thread *thread = place_for(task);
	struct place place = {}, first = {};
	__u64 program;

	/* Its user may have changed. */
	if (thread && thread->owned)
		thread->generation = ~0ull;
	thread = thread_of(task);
	if (!thread)
		return 0;
	program = (__u64)BPF_CORE_READ(bprm, file);
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		__u64 script = thread->scripts[i];

		if (!script || script == program)
			break;
		place_of(&place, (struct file *)script);
		count_execution(thread, &place);
	}
	__builtin_memset(thread->scripts, 0, sizeof(thread->scripts));
	place_of(&place, (struct file *)program);
	count_execution(thread, &place);
	/* Where it begins: in its dynamic linker, or in itself. */
	bpf_find_vma(task, NEXT_INSTRUCTION(regs), place_of_area, &first, 0);
	if (first.dentry && first.dentry != place.dentry)
		count_execution(thread, &first);
	return 0;
}

#endif
