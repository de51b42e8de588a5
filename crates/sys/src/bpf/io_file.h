/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From a descriptor to its file, and what is known of that.
 */
#ifndef PLIMSOLL_IO_FILE_H
#define PLIMSOLL_IO_FILE_H

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = ((struct task_struct___io *)task)->files->fdt;
	struct file *file = NULL;

	if (fd >= table->max_fds)
		return NULL;
	/* A list's head is for its one pointer: an element of an array of pointers. */
	if (FAST)
		return (struct file *)CAST(hlist_head, table->fd + fd)->first;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

/* How large the inode's file is now, and whether it has a name. */
static __always_inline void look_at_inode(struct row *row, struct inode *inode)
{
	row->size_last_bytes = READ_MEMBER(inode, inode, i_size);
	row->flags &= ~ROW_UNLINKED;
	if (!READ_MEMBER(inode, inode, i_nlink))
		row->flags |= ROW_UNLINKED;
}

static __always_inline void look_at(struct row *row, struct file *file)
{
	look_at_inode(row, READ_MEMBER(file, file, f_inode));
}

static __always_inline struct mount *real_mount(struct vfsmount *mount)
{
	return (void *)mount - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
}

struct walk {
	struct event_folder *event;
	struct dentry *dentry;
	struct vfsmount *mount;
	__u32 bytes;
	__u32 done;
};

/* Writes one component, or goes up a mount; 1 at the end. */
static long step(__u32 index, struct walk *walk)
{
	struct dentry *dentry = walk->dentry;
	struct vfsmount *inner = walk->mount;
	struct dentry *parent;
	long bytes;

	if (dentry == BPF_CORE_READ(inner, mnt_root)) {
		struct mount *mount = real_mount(inner);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount) {
			walk->done = 1;
			return 1;
		}
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = &above->mnt;
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (walk->bytes >= FOLDER_BYTES_MAX)
		return 1;
	bytes = bpf_probe_read_kernel_str(walk->event->text + walk->bytes, COMPONENT_BYTES_MAX,
					  BPF_CORE_READ(dentry, d_name.name));
	if (bytes < 1)
		return 1;
	walk->bytes += bytes;
	walk->dentry = parent;
	walk->done = parent == dentry;
	return walk->done;
}

/* Nobody is woken for a folder, but for a ring that fills. */
static __always_inline __u64 wake_flag(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > RING_BYTES_WAKE ? BPF_RB_FORCE_WAKEUP
									     : BPF_RB_NO_WAKEUP;
}

/* Tells a run the path of `dentry`, under this id. Global: the verifier checks it once. */
__attribute__((noinline)) int emit_folder(struct io_run *run, __u64 id, __u64 dentry, __u64 mount)
{
	struct event_folder *event;
	struct walk walk;
	__u32 zero = 0, slot;
	__u64 size;
	void *ring;

	event = bpf_map_lookup_elem(&io_scratch, &zero);
	if (!run || !event)
		return 1;
	walk.event = event;
	walk.dentry = (struct dentry *)dentry;
	walk.mount = (struct vfsmount *)mount;
	walk.bytes = 0;
	walk.done = 0;
	bpf_loop(FOLDER_DEPTH_MAX, step, &walk, 0);
	event->id = id;
	event->bytes = walk.bytes;
	event->cut = !walk.done;
	size = __builtin_offsetof(struct event_folder, text) + walk.bytes;
	barrier_var(size);
	if (size > sizeof(*event))
		size = sizeof(*event);
	slot = run->id % RUN_SLOTS;
	ring = bpf_map_lookup_elem(&io_rings, &slot);
	if (!ring)
		return 1;
	return bpf_ringbuf_output(ring, event, size, wake_flag(ring)) != 0;
}

/* Puts down for the reader the path that found its ring full. Whether it could. */
static __always_inline bool keep_folder(struct io_run *run, struct folder_key *key)
{
	struct event_folder *event;
	__u32 zero = 0;

	event = bpf_map_lookup_elem(&io_scratch, &zero);
	if (!event || event->id != key->id ||
	    event->bytes > FOLDER_KEPT_BYTES - __builtin_offsetof(struct event_folder, text))
		return false;
	if (bpf_map_update_elem(&io_kept, key, event, 0))
		return false;
	__sync_fetch_and_add(&run->folders_kept, 1);
	return true;
}

/* Makes sure that the thread's runs know a folder; whether one of them does not. */
__attribute__((noinline)) int tell_folder(struct io_thread *thread, __u64 id, __u64 dentry,
					  __u64 mount)
{
	__u8 known = 1;
	bool lost = false;

	if (!thread || thread->told == id)
		return 0;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct folder_key key = {.run = thread->runs[i], .id = id};
		struct io_run *run;

		if (!key.run)
			break;
		if (bpf_map_lookup_elem(&io_folders, &key))
			continue;
		run = io_run_of(key.run);
		if (!run)
			continue;
		if (emit_folder(run, id, dentry, mount) && !keep_folder(run, &key)) {
			__sync_fetch_and_add(&run->folders_lost, 1);
			lost = true;
		} else {
			bpf_map_update_elem(&io_folders, &key, &known, 0);
		}
	}
	thread->told = lost ? 0 : id;
	return lost;
}

static __always_inline __u64 mix(__u64 a, __u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 29;
}

/* From now on folders may have other paths. */
static __always_inline void note_move(void)
{
	struct io_config *config;
	__u32 zero = 0;

	config = bpf_map_lookup_elem(&io_config, &zero);
	if (config)
		__sync_fetch_and_add(&config->moves, 1);
}

struct climb {
	struct dentry *dentry;
	struct vfsmount *mount;
	__u64 id;
};

/* Takes one component, or goes up a mount; 1 at the end. */
static long climb_step(__u32 index, struct climb *climb)
{
	struct dentry *dentry = climb->dentry;
	struct vfsmount *inner = climb->mount;

	if (dentry == BPF_CORE_READ(inner, mnt_root)) {
		struct mount *mount = real_mount(inner);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount)
			return 1;
		climb->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		climb->mount = &above->mnt;
		return 0;
	}
	/* Of the name, and of where the folder above lies in memory. */
	climb->id = mix(climb->id, BPF_CORE_READ(dentry, d_name.hash_len));
	climb->dentry = BPF_CORE_READ(dentry, d_parent);
	return climb->dentry == dentry;
}

/*
 * What a folder is called by: another when it, or one above it, has got another name. Found anew
 * where the thread looked at another folder last, or where some folder may have been moved since.
 */
__attribute__((noinline)) __u64 folder_id(struct io_thread *thread, __u64 of, __u64 mount)
{
	struct dentry *dentry = (struct dentry *)of, *parent;
	struct io_folder *last;
	struct io_config *config;
	struct climb climb;
	__u64 name, parent_name;
	__u32 zero = 0;

	config = bpf_map_lookup_elem(&io_config, &zero);
	if (!thread || !config || !dentry)
		return 0;
	last = &thread->folder;
	parent = READ_MEMBER(dentry, dentry, d_parent);
	name = READ_MEMBER(dentry, dentry, d_name.hash_len);
	parent_name = READ_MEMBER(dentry, parent, d_name.hash_len);
	if (last->dentry == of && last->mount == mount && last->moves == config->moves &&
	    last->name == name && last->parent_name == parent_name)
		return last->id;
	climb.dentry = dentry;
	climb.mount = (struct vfsmount *)mount;
	climb.id = mix(mount, name);
	bpf_loop(FOLDER_DEPTH_MAX, climb_step, &climb, 0);
	/* 0 is no folder, and the highest a changed name. */
	if (!climb.id || climb.id == EVENT_NAME)
		climb.id = 1;
	last->dentry = of;
	last->mount = mount;
	last->moves = config->moves;
	last->name = name;
	last->parent_name = parent_name;
	last->id = climb.id;
	return climb.id;
}

/* Tells the folder of a slot's file once more. One that moved is another. */
__attribute__((noinline)) int tell_again(struct io_thread *thread, __u32 index)
{
	struct io_slot *slot;

	if (!thread || index >= IO_SLOTS)
		return 0;
	slot = &thread->slots[index];
	if (folder_id(thread, slot->folder, slot->mount) != slot->row.folder)
		return 0;
	if (!tell_folder(thread, slot->row.folder, slot->folder, slot->mount))
		slot->row.flags &= ~ROW_FOLDER_LOST;
	return 0;
}

static __always_inline __u32 opened_to(__u32 mode)
{
	return (mode & FMODE_READ ? ROW_OPENED_TO_READ : 0) |
	       (mode & FMODE_WRITE ? ROW_OPENED_TO_WRITE : 0);
}

static __always_inline bool is_file(struct file *file)
{
	struct address_space *mapping = BPF_CORE_READ(file, f_mapping);

	return mapping && mapping == BPF_CORE_READ(file, f_inode, i_mapping);
}

/*
 * Of a slot's file of overlayfs: the file below, which a call or a mapping really uses. Global: the
 * verifier checks it once.
 */
__attribute__((noinline)) int find_below(struct io_slot *slot)
{
	struct file *file, *below = NULL;
	struct inode *inode;

	if (!slot)
		return 0;
	file = (struct file *)slot->file;
	below = BPF_CORE_READ(file, private_data);
	/* Since 6.13 there is something between, which begins with it. */
	if (!is_file(below)) {
		bpf_probe_read_kernel(&below, sizeof(below), below);
		if (!is_file(below))
			return 0;
	}
	inode = BPF_CORE_READ(below, f_inode);
	slot->row.below_inode = BPF_CORE_READ(inode, i_ino);
	slot->row.below_device = BPF_CORE_READ(inode, i_sb, s_dev);
	slot->row.below_generation = BPF_CORE_READ(inode, i_generation);
	return 0;
}

/* Fills a slot's row with what is known of a file that is new to it. */
static __always_inline void describe(struct io_thread *thread, struct io_slot *slot,
				     struct inode *inode, struct dentry *dentry,
				     struct vfsmount *mount)
{
	struct super_block *super = READ_MEMBER(inode, inode, i_sb);
	struct dentry *folder = READ_MEMBER(dentry, dentry, d_parent);
	struct file *opened = (struct file *)slot->file;
	struct row *row = &slot->row;

	slot->id.inode = READ_MEMBER(inode, inode, i_ino);
	slot->id.device = READ_MEMBER(super_block, super, s_dev);
	slot->id.generation = READ_MEMBER(inode, inode, i_generation);
	row->first_ns = bpf_ktime_get_boot_ns();
	row->process_start_ns = thread->process_start_ns;
	row->size_first_bytes = READ_MEMBER(inode, inode, i_size);
	row->size_last_bytes = row->size_first_bytes;
	row->mode = READ_MEMBER(inode, inode, i_mode);
	row->magic = READ_MEMBER(super_block, super, s_magic);
	row->flags = 0;
	/* As `slot->folder`: the pointer without its type. */
	barrier();
	if ((row->mode & S_IFMT) == S_IFSOCK)
		row->flags |= describe_socket(slot->file, slot->id.inode);
	if ((row->mode & S_IFMT) == S_IFCHR || (row->mode & S_IFMT) == S_IFBLK)
		row->special_device = READ_MEMBER(inode, inode, i_rdev);
	if (dentry == READ_MEMBER(vfsmount, mount, mnt_root)) {
		row->flags |= ROW_WHOLE_NAME;
		folder = dentry;
	} else {
		bpf_probe_read_kernel_str(row->leaf, sizeof(row->leaf),
					  READ_MEMBER(dentry, dentry, d_name.name));
		/* A longer name is told as a folder's is. */
		if (slot->name >> 32 >= LEAF_BYTES_MAX) {
			row->flags |= ROW_WHOLE_NAME;
			folder = dentry;
		}
	}
	slot->folder = (__u64)folder;
	slot->mount = (__u64)mount;
	barrier();
	row->folder = folder_id(thread, slot->folder, slot->mount);
	slot->id.name = 0;
	/* All anonymous inodes are one, and their names have no hash: what they do tells them apart. */
	if (row->magic == ANON_INODE_FS_MAGIC && opened)
		slot->id.name = (__u64)READ_MEMBER(file, opened, f_op);
	barrier();
	row->below_inode = 0;
	if (row->magic == OVERLAYFS_MAGIC && (row->mode & S_IFMT) == S_IFREG && opened) {
		find_below(slot);
		/* What is copied up has pages elsewhere: a row of its own. */
		slot->id.name = row->below_inode;
	}
	slot->id.name = mix(mix(slot->id.name, slot->name), row->folder);
	if (slot->id.name == ANY_NAME)
		slot->id.name = 0;
	if (tell_folder(thread, row->folder, slot->folder, slot->mount))
		row->flags |= ROW_FOLDER_LOST;
}

#endif
