/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maps of io.bpf.c. */
#ifndef PLIMSOLL_IO_MAPS_H
#define PLIMSOLL_IO_MAPS_H

/* A file that a thread uses, and what it did there that is in no row yet. */
struct io_slot {
	__u64 file; /* struct file *; 0: none */
	__u64 dentry;
	__u64 name; /* dentry->d_name.hash_len */
	/* Of `row.folder`. Kept here, since pointers lose their type in a map: to the verifier no
	 * arithmetic is allowed on one that has a type. */
	__u64 folder;
	__u64 mount;
	struct file_id id;
	struct row row;
};

/* Pages of one inode that are in no row yet; counts as in a row. */
struct io_pages {
	__u64 inode; /* 0: none */
	__u32 device;
	__u32 in;
	__u32 dirtied;
	__u32 mapped_in;
	__u32 mapped_dirtied;
	__u32 generation;
	__u64 folio; /* that is told now: as `io_slot.folder` */
};

/* A call that changes a name. */
struct name_call {
	__u64 path;
	__u64 to; /* 0: none */
	__s32 folder; /* descriptors */
	__s32 to_folder;
	__u32 change;
	__u32 unused;
};

/* A folder, and what it is called by. */
struct io_folder {
	__u64 dentry;
	__u64 mount;
	__u64 name; /* hash_len, as the next */
	__u64 parent_name;
	__u64 moves; /* of `io_config`, when it was found */
	__u64 id;
};

/* What a thread need not look up at each call. */
struct io_thread {
	__u64 generation; /* of `runs` */
	__u64 entered_ns;
	struct process_key process;
	__u64 runs[RUNS_PER_PROCESS]; /* that ask for files; closed ranks, 0 behind the last */
	__u64 process_start_ns;
	__u64 times; /* whether one of them asks for time */
	__u64 waits; /* whether its process has yet to exec */
	__u64 owned; /* whether one of its process's runs has an owner */
	__u64 open_flags; /* of the call that is about to be counted */
	__u64 cut_inode; /* that was truncated last */
	__u64 cut_bytes; /* how large it was */
	__u64 told; /* the folder that its runs were told of last */
	/* struct file * of what its exec under way went through so far; 0 behind the last. */
	__u64 scripts[SCRIPTS_MAX];
	struct io_pages pages;
	struct name_call name;
	struct {
		__u64 dentry;
		__u64 mount;
	} base; /* from which a path leads that is told now */
	struct io_folder folder; /* the one whose files it used last */
	struct io_slot slots[IO_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct io_thread);
} io_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ROWS_MAX);
	__type(key, struct row_key);
	__type(value, struct row);
} io_rows SEC(".maps");

/* For the few rows with many sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ROWS_MAX);
	__type(key, struct row_key);
	__type(value, struct size_classes);
} io_classes SEC(".maps");

/* The addresses that a network namespace has; the address of zeros is in it if all of them are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OWN_ADDRESSES_MAX);
	__type(key, struct own_address);
	__type(value, __u8);
} io_own SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RUN_SLOTS);
	__type(key, __u32);
	__type(value, struct io_run);
} io_runs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_config);
} io_config SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RUN_SLOTS);
	__type(key, __u32);
	__array(values, struct ring);
} io_rings SEC(".maps");

struct folder_key {
	__u64 run;
	__u64 id;
};

/* Folders that a run has been told. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FOLDERS_MAX);
	__type(key, struct folder_key);
	__type(value, __u8);
} io_folders SEC(".maps");

/* Folders that found the ring full: the reader takes them out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FOLDERS_KEPT_MAX);
	__type(key, struct folder_key);
	__type(value, struct kept_folder);
} io_kept SEC(".maps");

/* A path is too large for the stack. A program does not run twice at once on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_folder);
} io_scratch SEC(".maps");

/* Stands in for a thread: for what is done in another's name. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_thread);
} uring_scratch SEC(".maps");

/* A row on its way into the table: older kernels take no other memory of ours for that. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct row);
} row_scratch SEC(".maps");

/* A row that has only pages, on its way there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct row);
} pages_scratch SEC(".maps");

static __always_inline struct io_run *io_run_of(__u64 id)
{
	__u32 slot = id % RUN_SLOTS;
	struct io_run *run = bpf_map_lookup_elem(&io_runs, &slot);

	return id && run && run->id == id ? run : NULL;
}

#endif
