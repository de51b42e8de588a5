/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counting in a row, and adding what a thread counted to the rows of its runs. */
#ifndef PLIMSOLL_IO_ROW_H
#define PLIMSOLL_IO_ROW_H

static const struct row empty_row;
static const struct size_classes empty_classes;

static __always_inline __u32 class_of(__u32 bytes)
{
	__u32 class = 0;

	if (bytes >= 1u << 16) {
		class += 16;
		bytes >>= 16;
	}
	if (bytes >= 1u << 8) {
		class += 8;
		bytes >>= 8;
	}
	if (bytes >= 1u << 4) {
		class += 4;
		bytes >>= 4;
	}
	if (bytes >= 1u << 2) {
		class += 2;
		bytes >>= 2;
	}
	class += bytes > 1 ? 2 : bytes;
	return class & (SIZE_CLASSES - 1);
}

/* The key of a file's row in a run. Filled in place: the stack is short. */
static __always_inline void fill_key(struct row_key *key, struct io_run *run,
				     struct io_thread *thread, const struct file_id *file,
				     __u32 tid)
{
	key->run = run->id;
	key->process_ns = thread->process.start_ns;
	key->file.inode = file->inode;
	key->file.name = file->name;
	key->file.device = file->device;
	key->file.generation = file->generation;
	key->tgid = thread->process.tgid;
	key->tid = tid;
	key->epoch = run->epoch;
	key->unused = 0;
}

/* Counts transfers of a size by its class only, in a run. */
static __always_inline void count_class(struct row_key *of, struct exact_size *size)
{
	struct row_key key = *of;
	struct size_classes *classes = bpf_map_lookup_elem(&io_classes, &key);
	__u32 class = class_of(size->bytes), zero = 0;

	if (!classes) {
		struct io_config *config = bpf_map_lookup_elem(&io_config, &zero);

		if (config)
			config->has_classes = 1;
		bpf_map_update_elem(&io_classes, &key, &empty_classes, BPF_NOEXIST);
		classes = bpf_map_lookup_elem(&io_classes, &key);
	}
	if (!classes)
		return;
	classes->reads[class] += size->reads;
	classes->writes[class] += size->writes;
}

/* Gives up the exact size of these transfers of a slot. */
__attribute__((noinline)) int leave_size(struct io_thread *thread, struct io_slot *slot,
					 struct exact_size *size)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	if (!thread || !slot || !size)
		return 0;
	slot->row.flags |= ROW_SIZES_LEFT;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run;

		if (!thread->runs[i])
			break;
		run = io_run_of(thread->runs[i]);
		if (run) {
			struct row_key key;

			fill_key(&key, run, thread, &slot->id, tid);
			count_class(&key, size);
		}
	}
	return 0;
}

/*
 * Counts transfers of a size. Returns 0 if they found their place, else puts what was counted of
 * the rarest size into `*left` and takes its place.
 */
__attribute__((noinline)) int count_size(struct row *row, struct exact_size *size,
					 struct exact_size *left)
{
	__u32 rarest = 0, calls = ~0u;

	if (!row || !size || !left)
		return 0;
	for (int i = 0; i < EXACT_SIZES; i++) {
		__u32 counted = row->sizes[i].reads + row->sizes[i].writes;

		if (counted && row->sizes[i].bytes == size->bytes) {
			row->sizes[i].reads += size->reads;
			row->sizes[i].writes += size->writes;
			return 0;
		}
		if (counted < calls) {
			calls = counted;
			rarest = i;
		}
		if (!counted)
			break;
	}
	rarest &= EXACT_SIZES - 1;
	*left = row->sizes[rarest];
	row->sizes[rarest] = *size;
	return calls != 0;
}

/*
 * Of two ends at one tick that of a file with a name comes later, else that of the larger file:
 * files grow more often than they shrink, but where this row cut it and wrote to it.
 */
static __always_inline bool is_later(struct row *row, struct row *than)
{
	__u32 unlinked = row->flags & ROW_UNLINKED, other = than->flags & ROW_UNLINKED;

	if (row->last_jiffies != than->last_jiffies)
		return row->last_jiffies > than->last_jiffies;
	if (unlinked != other)
		return !unlinked;
	return (row->flags & ROW_TRUNCATED && row->writes) ||
	       row->size_last_bytes > than->size_last_bytes;
}

static __always_inline void add_counts(struct row *sum, struct row *row)
{
	if (is_later(row, sum)) {
		sum->last_jiffies = row->last_jiffies;
		sum->size_last_bytes = row->size_last_bytes;
		sum->flags = (sum->flags & ~ROW_UNLINKED) | (row->flags & ROW_UNLINKED);
	}
	/* Of two at one tick the one that opened the file was first. */
	if (row->first_ns < sum->first_ns ||
	    (row->first_ns == sum->first_ns && row->opens && !sum->opens)) {
		sum->first_ns = row->first_ns;
		sum->size_first_bytes = row->size_first_bytes;
	}
	sum->opens += row->opens;
	sum->closes += row->closes;
	sum->reads += row->reads;
	sum->bytes_read += row->bytes_read;
	/* The rest lies apart: do not touch it for nothing. */
	if (row->writes) {
		sum->writes += row->writes;
		sum->bytes_written += row->bytes_written;
	}
	if (row->seeks | row->failed | row->time_ns | row->executions) {
		sum->seeks += row->seeks;
		sum->failed += row->failed;
		sum->no_space += row->no_space;
		sum->time_ns += row->time_ns;
		sum->executions += row->executions;
	}
	if (row->pages_in | row->pages_dirtied | row->pages_mapped_in | row->pages_mapped_dirtied) {
		sum->pages_in += row->pages_in;
		sum->pages_dirtied += row->pages_dirtied;
		sum->pages_mapped_in += row->pages_mapped_in;
		sum->pages_mapped_dirtied += row->pages_mapped_dirtied;
	}
	if (row->flags & ROW_INET) {
		sum->local_sent += row->local_sent;
		sum->local_received += row->local_received;
		sum->remote_sent += row->remote_sent;
		sum->remote_received += row->remote_received;
	}
	sum->flags |= row->flags & ~ROW_UNLINKED;
}

/* Adds a row to one in the table. */
__attribute__((noinline)) int merge_row(struct row *sum, struct row *row, struct row_key *key)
{
	struct exact_size left;

	if (!sum || !row || !key)
		return 0;
	add_counts(sum, row);
	for (int i = 0; i < EXACT_SIZES; i++) {
		if (!(row->sizes[i].reads + row->sizes[i].writes))
			break;
		if (count_size(sum, &row->sizes[i], &left)) {
			sum->flags |= ROW_SIZES_LEFT;
			count_class(key, &left);
		}
	}
	return 0;
}

/* Adds what found no place in the table. A function of its own: its callers' stack is short. */
__attribute__((noinline)) int add_rest(struct io_run *run, struct row *row, __u32 only_pages)
{
	if (!run || !row)
		return 0;
	if (!only_pages)
		__sync_fetch_and_add(&run->files, 1);
	__sync_fetch_and_add(&run->opens, row->opens);
	__sync_fetch_and_add(&run->closes, row->closes);
	__sync_fetch_and_add(&run->seeks, row->seeks);
	__sync_fetch_and_add(&run->reads, row->reads);
	__sync_fetch_and_add(&run->writes, row->writes);
	__sync_fetch_and_add(&run->bytes_read, row->bytes_read);
	__sync_fetch_and_add(&run->bytes_written, row->bytes_written);
	__sync_fetch_and_add(&run->executions, row->executions);
	__sync_fetch_and_add(&run->pages_in, row->pages_in);
	__sync_fetch_and_add(&run->pages_dirtied, row->pages_dirtied);
	__sync_fetch_and_add(&run->pages_mapped_in, row->pages_mapped_in);
	__sync_fetch_and_add(&run->pages_mapped_dirtied, row->pages_mapped_dirtied);
	return 0;
}

static __always_inline void wake_reader(struct io_run *run)
{
	struct {
		__u64 id;
		__u32 bytes;
		__u32 cut;
	} nothing = {};
	__u32 slot = run->id % RUN_SLOTS;
	void *ring = bpf_map_lookup_elem(&io_rings, &slot);

	if (ring)
		bpf_ringbuf_output(ring, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void add_to_run(struct io_run *run, struct io_thread *thread,
				       const struct file_id *file, struct row *counted, __u32 tid)
{
	struct row_key key;
	struct row *row;
	__u32 zero = 0;

	fill_key(&key, run, thread, file, tid);
	row = bpf_map_lookup_elem(&io_rows, &key);
	if (row) {
		merge_row(row, counted, &key);
		return;
	}
	row = bpf_map_lookup_elem(&row_scratch, &zero);
	if (!row)
		return;
	__builtin_memcpy(row, counted, sizeof(*row));
	if (run->rows >= run->rows_max ||
	    bpf_map_update_elem(&io_rows, &key, row, BPF_NOEXIST)) {
		add_rest(run, counted, file->name == ANY_NAME);
		return;
	}
	if (__sync_fetch_and_add(&run->rows, 1) == ROWS_WAKE)
		wake_reader(run);
}

/* Adds what the thread counted in a slot to the rows of its runs; the slot is free then. */
__attribute__((noinline)) int put_down(struct io_thread *thread, __u32 index)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct io_slot *slot;

	if (!thread || index >= IO_SLOTS)
		return 0;
	slot = &thread->slots[index];
	slot->file = 0;
	if (!slot->row.first_ns)
		return 0;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run;

		if (!thread->runs[i])
			break;
		run = io_run_of(thread->runs[i]);
		if (run)
			add_to_run(run, thread, &slot->id, &slot->row, tid);
	}
	__builtin_memcpy(&slot->row, &empty_row, sizeof(slot->row));
	return 0;
}

#endif
