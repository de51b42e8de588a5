/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The page cache: what had to be brought in for a task, and what it made dirty, by file.
 *
 * Pages are told while a call or a page fault is under way. Those of a call go to the row of its
 * file as it returns. Those of a fault have no descriptor: they go there as well if the thread's
 * next call is on that file, else to a row of the inode's own, once another inode takes the place.
 */
#ifndef PLIMSOLL_IO_PAGES_H
#define PLIMSOLL_IO_PAGES_H

/* Pages of a folio: where it has more than one, the order is in its second page. */
static __always_inline __u32 pages_of(struct folio *folio)
{
	struct folio___old *old = (struct folio___old *)folio;
	__u64 flags = 0;
	__u32 order;

	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(old->_folio_order))
		order = BPF_CORE_READ(old, _folio_order);
	else
		order = BPF_CORE_READ(folio, _flags_1) & 0xff;
	return 1u << (order & 31);
}

/* Adds the thread's pages to the rows of its runs. */
__attribute__((noinline)) int put_pages(struct io_thread *thread)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), zero = 0;
	struct file_id file = {};
	struct io_pages *pages;
	struct row *row;

	row = bpf_map_lookup_elem(&pages_scratch, &zero);
	if (!thread || !row)
		return 0;
	pages = &thread->pages;
	if (!pages->inode)
		return 0;
	file.inode = pages->inode;
	file.device = pages->device;
	file.generation = pages->generation;
	file.name = ANY_NAME;
	__builtin_memcpy(row, &empty_row, sizeof(*row));
	row->first_ns = bpf_ktime_get_boot_ns();
	row->last_jiffies = bpf_jiffies64();
	row->process_start_ns = thread->process_start_ns;
	/* A page that was added only to be written was not read. */
	row->pages_in = pages->in > pages->dirtied ? pages->in - pages->dirtied : 0;
	row->pages_dirtied = pages->dirtied;
	row->pages_mapped_in = pages->mapped_in;
	row->pages_mapped_dirtied = pages->mapped_dirtied;
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct io_run *run;

		if (!thread->runs[i])
			break;
		run = io_run_of(thread->runs[i]);
		if (run)
			add_to_run(run, thread, &file, row, tid);
	}
	__builtin_memset(pages, 0, sizeof(*pages));
	return 0;
}

/* Counts the folio that is put down in the thread. Global: the verifier checks it once. */
__attribute__((noinline)) int count_pages(struct io_thread *thread, __u32 dirtied, __u32 in_call)
{
	struct super_block *super;
	struct folio *folio;
	struct io_pages *pages;
	struct inode *inode;
	__u64 number;
	__u32 count, device, generation;

	if (!thread)
		return 0;
	folio = (struct folio *)thread->pages.folio;
	inode = BPF_CORE_READ(folio, mapping, host);
	if ((READ_MEMBER(inode, inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	super = READ_MEMBER(inode, inode, i_sb);
	number = READ_MEMBER(inode, inode, i_ino);
	device = READ_MEMBER(super_block, super, s_dev);
	generation = READ_MEMBER(inode, inode, i_generation);
	count = pages_of(folio);
	pages = &thread->pages;
	if (pages->inode != number || pages->device != device || pages->generation != generation) {
		put_pages(thread);
		pages->inode = number;
		pages->device = device;
		pages->generation = generation;
	}
	if (in_call && dirtied)
		pages->dirtied += count;
	else if (in_call)
		pages->in += count;
	else if (dirtied)
		pages->mapped_dirtied += count;
	else
		pages->mapped_in += count;
	return 0;
}

/* What a call on the slot's file did to the page cache. */
static __always_inline void take_pages(struct io_thread *thread, struct io_slot *slot, bool is_read)
{
	struct io_pages *pages = &thread->pages;
	struct row *row = &slot->row;
	bool below = row->below_inode && pages->inode == row->below_inode &&
		     pages->device == row->below_device &&
		     pages->generation == row->below_generation;
	bool same = below ||
		    (pages->inode == slot->id.inode && pages->device == slot->id.device &&
		     pages->generation == slot->id.generation);

	if (!same && row->magic != OVERLAYFS_MAGIC)
		return;
	if (is_read) {
		row->pages_in += pages->in > pages->dirtied ? pages->in - pages->dirtied : 0;
	} else {
		row->pages_dirtied += pages->dirtied;
		pages->dirtied = 0;
	}
	pages->in = 0;
	if (same) {
		row->pages_mapped_in += pages->mapped_in;
		row->pages_mapped_dirtied += pages->mapped_dirtied;
		pages->mapped_in = pages->mapped_dirtied = 0;
	}
	if (!(pages->dirtied | pages->mapped_in | pages->mapped_dirtied))
		pages->inode = 0;
}

#endif
