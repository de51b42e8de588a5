/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How much memory a process held at most, read from its mm at its end. A part of task.bpf.c:
 * `scratch` is its map.
 */
#ifndef PLIMSOLL_PEAKS_H
#define PLIMSOLL_PEAKS_H

/* Resident pages by kind, as the kernel counts them. */
struct resident {
	__s64 file;
	__s64 anon;
	__s64 shmem;
};

static __always_inline __u64 positive(__s64 pages)
{
	return pages > 0 ? pages : 0;
}

static __always_inline void read_peaks(struct process *process, struct mm_struct *mm,
				       const struct resident *resident)
{
	__u64 anon = positive(resident->anon);
	__u64 rss = anon + positive(resident->file) + positive(resident->shmem);
	__u64 hiwater_rss = READ_MEMBER(mm_struct, mm, hiwater_rss);
	__u64 hiwater_vm = READ_MEMBER(mm_struct, mm, hiwater_vm);
	__u64 total_vm = READ_MEMBER(mm_struct, mm, total_vm);

	/* The kernel raises its high-water marks lazily. */
	process->rss_peak_pages = rss > hiwater_rss ? rss : hiwater_rss;
	process->vm_peak_pages = total_vm > hiwater_vm ? total_vm : hiwater_vm;
	process->anon_pages = anon;
}

/* The counters of an mm since 6.2: a count, and on each CPU what is not yet added to it. */
struct split_counters {
	struct resident sum;
	__u64 file_at; /* of the parts, before the offset of a CPU is added */
	__u64 anon_at;
	__u64 shmem_at;
	__u64 scratch_at;
};

/*
 * Of what the verifier takes for a kernel structure - any that begins with such a number - a part
 * may be loaded like the rest.
 */
static __always_inline __s64 part_at(__u64 address)
{
	__s32 part = 0;

	if (CASTS(upid))
		return CAST(upid, address)->nr;
	return bpf_probe_read_kernel(&part, sizeof(part), (void *)address) ? 0 : part;
}

/*
 * The verifier lets nobody calculate with its pointers. Read back from the stack it is a number.
 */
static __always_inline __u64 address_of(void *pointer)
{
	void *volatile kept = pointer;
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), (void *)&kept);
	return address;
}

/*
 * The offset of a CPU is how far its copy of `scratch` lies from where the map's per-CPU pointer
 * points.
 */
static long add_parts(__u32 cpu, struct split_counters *counters)
{
	__u32 zero = 0;
	void *scratch_there = bpf_map_lookup_percpu_elem(&scratch, &zero, cpu);
	__u64 offset;

	if (!scratch_there)
		return 1;
	offset = address_of(scratch_there) - counters->scratch_at;
	counters->sum.file += part_at(counters->file_at + offset);
	counters->sum.anon += part_at(counters->anon_at + offset);
	counters->sum.shmem += part_at(counters->shmem_at + offset);
	return 0;
}

/* Each part may hold 64 pages, and 2 for each CPU on large machines: megabytes in all. */
static __always_inline void read_peaks_of_split(struct process *process, struct mm_struct *mm)
{
	struct bpf_array *array = (void *)address_of(&scratch);
	struct split_counters counters = {
		.sum = {.file = READ_MEMBER(mm_struct, mm, rss_stat[MM_FILEPAGES].count),
			.anon = READ_MEMBER(mm_struct, mm, rss_stat[MM_ANONPAGES].count),
			.shmem = READ_MEMBER(mm_struct, mm, rss_stat[MM_SHMEMPAGES].count)},
		.file_at = (__u64)READ_MEMBER(mm_struct, mm, rss_stat[MM_FILEPAGES].counters),
		.anon_at = (__u64)READ_MEMBER(mm_struct, mm, rss_stat[MM_ANONPAGES].counters),
		.shmem_at = (__u64)READ_MEMBER(mm_struct, mm, rss_stat[MM_SHMEMPAGES].counters),
		.scratch_at = (__u64)BPF_CORE_READ(array, pptrs[0])};

	bpf_loop(CPUS_MAX, add_parts, &counters, 0);
	read_peaks(process, mm, &counters.sum);
}

#endif
