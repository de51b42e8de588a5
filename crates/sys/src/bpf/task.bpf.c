// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The processes of a task: which there are, and what each used when it ended.
 *
 * Who is a member is told in whose.h. Everything that concerns a whole process lives in
 * `processes`, not in the storage of its leader: a thread may be switched out for the last time
 * after its leader is freed.
 *
 * Pointers are followed with READ_MEMBER (read.h), not by plain loads: at every plain load of a
 * pointer from what it trusts the verifier searches the kernel's type information from end to end,
 * about 0.5 ms each time.
 *
 * A process that is no member costs one look into its task storage and one for its signal_struct at
 * fork, exec and exit, and one test of its state at a context switch.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "task.h"
#include "maps.h"
#include "numbers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CLONE_VM 0x100

/* Set by load.rs: a copy of its own follows every process that is born while it is attached. */
const volatile struct {
	__u32 everyone;
	__u32 subsystems[GROUPS_TOLD - 1]; /* controllers of version 1, + 1; 0: none */
	__u32 numbers[TYPES];
} constants = {};

#include "counters.h"

/* The parent of whoever is born to nobody's member there: it holds the run. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct process);
} origin SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RUN_SLOTS);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* An exec event is too large for the stack. Only on_exec uses it; it is not preempted. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_exec);
} scratch SEC(".maps");

/* The run with this id, or nothing if it has ended. */
static __always_inline struct run *live_run(__u64 id)
{
	__u32 slot = id % RUN_SLOTS;
	struct run *run = bpf_map_lookup_elem(&runs, &slot);

	return id && run && run->id == id ? run : NULL;
}

/* Whether it was lower. */
static __always_inline bool raise(__s64 *peak, __s64 value)
{
	for (int i = 0; i < 16; i++) {
		__s64 seen = *(volatile __s64 *)peak;

		if (seen >= value)
			return false;
		if (__sync_val_compare_and_swap(peak, seen, value) == seen)
			return true;
	}
	return false;
}

/*
 * Counts a new thread or process in a run. A global function, which the verifier checks once and
 * not for each place of a process: inline it is 28000 instructions to check, and 60 ms at load.
 */
__attribute__((noinline)) int enter(__u64 id, __u32 is_process)
{
	struct run *run = live_run(id);

	if (!run)
		return 0;
	if (raise(&run->threads_peak, __sync_fetch_and_add(&run->threads_alive, 1) + 1))
		run->threads_peak_at_ns = bpf_ktime_get_boot_ns();
	if (!is_process)
		return 0;
	__sync_fetch_and_add(&run->processes_total, 1);
	raise(&run->processes_peak, __sync_fetch_and_add(&run->processes_alive, 1) + 1);
	return 0;
}

#include "whose.h"
#include "emit.h"
#include "peaks.h"
#include "sigchld.h"
#include "groups.h"
#include "signals.h"

static __always_inline void new_thread(struct task_struct *task, struct process_key *creator,
				       struct process *process)
{
	if (creator->by_run != UNMARKED && !mark(task, creator)) {
		count_lost(process);
		return;
	}
	__sync_fetch_and_add(&process->threads_alive, 1);
	__sync_fetch_and_add(&process->threads_scheduled, 1);
	for (int i = 0; i < RUNS_PER_PROCESS; i++)
		enter(process->runs[i], false);
}

/* `memory_of`: its creator's id if it has the address space of that, else 0. */
static __always_inline void new_process(struct task_struct *task, struct process *parent,
					__u32 memory_of)
{
	struct process_key key = {.start_ns = task->start_boottime, .tgid = task->tgid};
	struct process child = {
		.start_ns = key.start_ns, .threads_alive = 1, .threads_scheduled = 1};
	bool marked = constants.everyone || wants_mark(parent);
	struct task_struct *told = READ_MEMBER(task_struct, task, real_parent);
	struct event_fork event = {
		.head = {EVENT_FORK, key.tgid, bpf_ktime_get_boot_ns(), key.start_ns},
		.parent_pid = READ_MEMBER(task_struct, told, tgid),
		.memory_of = memory_of};
	bool followed = false;

	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		if (live_run(parent->runs[i])) {
			child.runs[i] = parent->runs[i];
			followed = true;
		}
	}
	if (!followed)
		return;
	if (!marked) {
		key.start_ns = (__u64)READ_MEMBER(task_struct, task, signal);
		key.by_run = UNMARKED;
	}
	if (bpf_map_update_elem(&processes, &key, &child, 0)) {
		count_lost(parent);
		return;
	}
	if (marked && !mark(task, &key)) {
		bpf_map_delete_elem(&processes, &key);
		count_lost(parent);
		return;
	}
	for (int i = 0; i < RUNS_PER_PROCESS; i++)
		enter(child.runs[i], true);
	emit(parent, &event, sizeof(event));
}

#include "earlier.h"

/* (task, clone_flags), in the context of the creator, before the new task runs. */
SEC("tp_btf/task_newtask")
int on_newtask(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	bool is_process = task->pid == task->tgid;
	struct process_key creator = {};
	struct process *process = process_of(bpf_get_current_task_btf(), &creator);
	__u32 zero = 0;

	if (constants.everyone && !process && is_process)
		process = bpf_map_lookup_elem(&origin, &zero);
	if (!process)
		return 0;
	if (is_process)
		new_process(task, process,
			    ctx[1] & CLONE_VM ? bpf_get_current_pid_tgid() >> 32 : 0);
	else
		new_thread(task, &creator, process);
	return 0;
}

/*
 * What of a command line does not fit into the event, as long as there is room: it is not worth an
 * event of another process.
 */
static __always_inline void emit_arguments(struct process *process, struct event_arguments *event,
					   __u64 start, __u32 full)
{
	for (__u32 part = 1; part < COMMAND_PARTS_MAX; part++) {
		__u32 at = part * COMMAND_BYTES_MAX, size;

		if (at >= full || is_crowded(process))
			break;
		size = full - at;
		if (size > COMMAND_BYTES_MAX)
			size = COMMAND_BYTES_MAX;
		if (bpf_probe_read_user(event->text, size, (void *)(start + at)))
			break;
		event->at = at;
		event->bytes = size;
		emit(process, event, __builtin_offsetof(struct event_arguments, text) + size);
	}
}

/* (task, old_pid, linux_binprm), in the context of the task, its new memory in place. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct linux_binprm *bprm = (struct linux_binprm *)ctx[2];
	struct process_key key = {};
	struct process *process = process_of(task, &key);
	struct event_exec *event;
	struct signal_struct *signal;
	struct mm_struct *mm;
	__u32 zero = 0, size;
	__u64 total, start;
	long path_bytes;

	if (!process)
		return 0;
	event = bpf_map_lookup_elem(&scratch, &zero);
	if (!event)
		return 0;
	signal = READ_MEMBER(task_struct, task, signal);
	process->execs++;
	process->maxrss_at_exec_pages = READ_MEMBER(signal_struct, signal, maxrss);
	mm = READ_MEMBER(task_struct, task, mm);
	start = READ_MEMBER(mm_struct, mm, arg_start);
	size = READ_MEMBER(mm_struct, mm, arg_end) - start;
	event->head.pid = task->tgid;
	event->head.at_ns = bpf_ktime_get_boot_ns();
	event->head.start_ns = process->start_ns;
	event->head.kind = EVENT_ARGUMENTS;
	if (constants.everyone && size > COMMAND_BYTES_MAX)
		emit_arguments(process, (struct event_arguments *)event, start, size);
	event->head.kind = EVENT_EXEC;
	event->unused = 0;
	event->run_delay_ns = 0;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		event->run_delay_ns = task->sched_info.run_delay;
	event->maxrss_pages = process->maxrss_at_exec_pages;
	/* No other thread is left: the dead ones are in the sum. */
	event->faults = task->min_flt + task->maj_flt + READ_MEMBER(signal_struct, signal, min_flt) +
			READ_MEMBER(signal_struct, signal, maj_flt);
	read_groups(event->groups, task);
	event->command_full_bytes = size;
	if (size > COMMAND_BYTES_MAX)
		size = COMMAND_BYTES_MAX;
	if (bpf_probe_read_user(event->text, size, (void *)start))
		size = 0;
	event->command_bytes = size;
	path_bytes = bpf_probe_read_kernel_str(event->text + size, PATH_BYTES_MAX,
					       READ_MEMBER(linux_binprm, bprm, filename));
	if (path_bytes < 1 || path_bytes > PATH_BYTES_MAX)
		path_bytes = 1;
	event->path_bytes = path_bytes - 1;
	total = __builtin_offsetof(struct event_exec, text) + size + path_bytes - 1;
	/* The verifier does not add up the bounds above: state them once more, unseen by clang. */
	barrier_var(total);
	if (total > sizeof(*event))
		total = sizeof(*event);
	emit(process, event, total);
	return 0;
}

/* The process whose last thread this is, and its memory. */
static __always_inline struct process *memory_end(__u64 *ctx, struct mm_struct **mm)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct process_key key = {};

	if (!(__u32)ctx[1])
		return NULL;
	*mm = READ_MEMBER(task_struct, task, mm);
	return *mm ? process_of(task, &key) : NULL;
}

/*
 * (task, group_dead), just before the memory of an ending task is dropped: only for kernels where
 * it is gone at sched_process_exit (before 6.16). Optional: without it signal->maxrss stands in.
 */
SEC("fentry/taskstats_exit")
int on_memory_end(__u64 *ctx)
{
	struct mm_struct *mm;
	struct process *process = memory_end(ctx, &mm);

	if (process)
		read_peaks_of_split(process, mm);
	return 0;
}

/* The same before 6.2. A program of its own: its searches for types would cost the others. */
SEC("fentry/taskstats_exit")
int on_memory_end_old(__u64 *ctx)
{
	struct mm_struct *mm;
	struct process *process = memory_end(ctx, &mm);
	struct mm_struct___old *old = (void *)mm;
	struct resident resident;

	if (!process)
		return 0;
	resident.file = BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter);
	resident.anon = BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter);
	resident.shmem = BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter);
	read_peaks(process, mm, &resident);
	return 0;
}

static __always_inline void emit_exit(struct process *process, struct task_struct *task)
{
	struct signal_struct *signal = READ_MEMBER(task_struct, task, signal);
	struct task_struct *leader = READ_MEMBER(task_struct, task, group_leader), *parent;
	const struct cred *cred;
	struct event_exit event = {
		.head = {EVENT_EXIT, task->tgid, bpf_ktime_get_boot_ns(), process->start_ns}};

	event.own = process->counters;
	/* What wait(2) would say. */
	event.wait_status = READ_MEMBER(signal_struct, signal, flags) & SIGNAL_GROUP_EXIT
				    ? READ_MEMBER(signal_struct, signal, group_exit_code)
				    : READ_MEMBER(task_struct, leader, exit_code);
	if (process->rss_peak_pages) {
		event.flags = EXIT_PEAKS_OF_MM;
		event.rss_peak_pages = process->rss_peak_pages;
		event.vm_peak_pages = process->vm_peak_pages;
		event.anon_pages = process->anon_pages;
	} else {
		event.rss_peak_pages = READ_MEMBER(signal_struct, signal, maxrss);
		event.flags = event.rss_peak_pages > process->maxrss_at_exec_pages
				      ? EXIT_MAXRSS_OF_PROGRAM
				      : EXIT_MAXRSS_OF_EARLIER;
	}
	if (!delays_of(task))
		event.flags |= EXIT_NO_BLKIO_DELAY;
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		event.flags |= EXIT_NO_RUN_DELAY;
	if (!counts_io(task))
		event.flags |= EXIT_NO_IO;
	if (process->is_part)
		event.flags |= EXIT_NO_BLKIO_DELAY | EXIT_NO_RUN_DELAY | EXIT_NO_IO;
	parent = READ_MEMBER(task_struct, leader, real_parent);
	event.parent_pid = READ_MEMBER(task_struct, parent, tgid);
	cred = READ_MEMBER(task_struct, task, real_cred);
	event.uid = READ_MEMBER(cred, cred, uid.val);
	BPF_CORE_READ_STR_INTO(&event.comm, leader, comm);
	event.sender = process->sender;
	read_groups(event.groups, task);
	emit_as(process, &event,
		constants.everyone ? sizeof(event) : __builtin_offsetof(struct event_exit, groups),
		(event.wait_status & 0x7f) == SIGKILL);
}

/*
 * What goes through an io_uring is in no counter of the task. Its context is freed long after the
 * end; an exec frees it too, so a program that the process left behind is missed.
 */
static __always_inline bool had_io_uring(struct task_struct *task)
{
	return bpf_core_field_exists(task->io_uring) && READ_MEMBER(task_struct, task, io_uring);
}

/*
 * A thread of a run ended. If the peak was reached a moment before, the thread may have been over
 * by then, and joined, where its end is told after its memory was given up. Global as enter().
 */
__attribute__((noinline)) int doubt_peak(__u64 id)
{
	struct run *run = live_run(id);

	if (run && bpf_ktime_get_boot_ns() - run->threads_peak_at_ns <= LATE_MAX_NS)
		raise(&run->threads_at_most, run->threads_peak);
	return 0;
}

/*
 * Counts the end of a thread, which `late` may be known already. Returns its process if it was the
 * last one.
 */
static __always_inline struct process *end_thread(struct task_struct *task, bool late)
{
	struct process_key key = {};
	struct process *process = process_of(task, &key);
	bool last, ring, vanishes;

	if (!process)
		return NULL;
	add_counters(&process->counters, task);
	ring = had_io_uring(task);
	last = __sync_fetch_and_add(&process->threads_alive, -1) == 1;
	vanishes = last && is_auto_reaped(task);
	for (int i = 0; i < RUNS_PER_PROCESS; i++) {
		struct run *run = live_run(process->runs[i]);

		if (!run)
			continue;
		__sync_fetch_and_add(&run->threads_alive, -1);
		if (vanishes)
			__sync_fetch_and_add(&run->auto_reaped, 1);
		if (late && !last)
			doubt_peak(process->runs[i]);
		if (ring)
			__sync_fetch_and_add(&run->io_uring_tasks, 1);
		if (last)
			__sync_fetch_and_add(&run->processes_alive, -1);
	}
	return last ? process : NULL;
}

/* (task, ...), once a thread. The last one to come by speaks for the process. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct process *process = end_thread(task, false);
	struct mm_struct *mm;

	if (!process)
		return 0;
	mm = READ_MEMBER(task_struct, task, mm);
	if (mm)
		read_peaks_of_split(process, mm);
	emit_exit(process, task);
	return 0;
}

/* The same before 6.16, where the memory is gone by then. */
SEC("tp_btf/sched_process_exit")
int on_exit_old(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct process *process = end_thread(task, true);

	if (process)
		emit_exit(process, task);
	return 0;
}

static __always_inline bool is_dead(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & TASK_DEAD;
	return task->state & TASK_DEAD;
}

/*
 * (preempt, prev, next, ...). A dead task is switched out once, its CPU time is final then: each
 * thread adds its own; nothing is taken from the sums in signal_struct, nothing counts twice.
 */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[1];
	struct event_final event = {};
	struct process_key key = {};
	struct process *process;

	if (!is_dead(task))
		return 0;
	process = process_of(task, &key);
	if (!process)
		return 0;
	__sync_fetch_and_add(&process->final_cpu_ns, task->se.sum_exec_runtime);
	if (__sync_fetch_and_add(&process->threads_scheduled, -1) != 1)
		return 0;
	event.head.kind = EVENT_FINAL;
	event.head.pid = key.tgid;
	event.head.at_ns = bpf_ktime_get_boot_ns();
	event.head.start_ns = process->start_ns;
	event.cpu_ns = process->final_cpu_ns;
	emit(process, &event, sizeof(event));
	bpf_map_delete_elem(&processes, &key);
	return 0;
}
