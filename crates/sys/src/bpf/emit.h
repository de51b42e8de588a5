/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Telling a run what happened. */
#ifndef PLIMSOLL_EMIT_H
#define PLIMSOLL_EMIT_H

static __always_inline bool is_half_full(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >=
	       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

/*
 * An event wakes a reader that sleeps, or one that watches once half of the ring is full, or for
 * this very event.
 */
static __always_inline __u64 wake_up(struct run *run, void *ring, bool is_kill)
{
	bool is_watched = run->watchful && (is_half_full(ring) ||
					    (is_kill && run->watchful == WATCHFUL_OF_KILLS));

	if (!run->asleep && !is_watched)
		return BPF_RB_NO_WAKEUP;
	run->asleep = run->watchful = 0;
	return BPF_RB_FORCE_WAKEUP;
}

/* A copy of the event to each run of the process; what does not fit is counted. */
static __always_inline void emit_as(struct process *process, void *event, __u64 size, bool is_kill)
{
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		__u64 id = process->runs[i];
		struct run *run = live_run(id);
		__u32 slot = id % RUN_SLOTS;
		void *ring;

		if (!run)
			continue;
		ring = bpf_map_lookup_elem(&rings, &slot);
		if (!ring || bpf_ringbuf_output(ring, event, size, wake_up(run, ring, is_kill)))
			__sync_fetch_and_add(&run->events_lost, 1);
	}
}

static __always_inline void emit(struct process *process, void *event, __u64 size)
{
	emit_as(process, event, size, false);
}

/* Whether a run of the process has little room left in its ring. */
static __always_inline bool is_crowded(struct process *process)
{
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		__u64 id = process->runs[i];
		__u32 slot = id % RUN_SLOTS;
		void *ring = live_run(id) ? bpf_map_lookup_elem(&rings, &slot) : NULL;

		if (ring && is_half_full(ring))
			return true;
	}
	return false;
}

static __always_inline void count_lost(struct process *process)
{
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct run *run = live_run(process->runs[i]);

		if (run)
			__sync_fetch_and_add(&run->events_lost, 1);
	}
}

#endif
