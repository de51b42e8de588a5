/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who sent a process the signal that it ends by. */
#ifndef PLIMSOLL_SIGNALS_H
#define PLIMSOLL_SIGNALS_H

#define SIGILL 4
#define SIGTRAP 5
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGSEGV 11
#define SIGSYS 31
/* In the place of a pointer: the kernel on behalf of whoever runs; the kernel by itself. */
#define SEND_SIG_NOINFO 0ul
#define SEND_SIG_PRIV 1ul
#define SI_CODE_OFFSET 8
#define TRACE_SIGNAL_DELIVERED 0

/* Of one without siginfo only SIGKILL is somebody's: whoever wrote to cgroup.kill runs. */
static __always_inline bool is_sent_by_current(__u32 signal, unsigned long info, __s32 *code)
{
	if (info == SEND_SIG_NOINFO)
		return signal == SIGKILL;
	if (info == SEND_SIG_PRIV)
		return false;
	return !bpf_probe_read_kernel(code, sizeof(*code), (void *)(info + SI_CODE_OFFSET));
}

/* The signals of what a processor, or a filter of system calls, does not let a program do. */
static __always_inline bool is_fault(__u32 signal)
{
	return signal == SIGILL || signal == SIGTRAP || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGSEGV || signal == SIGSYS;
}

/* (signal, info, task, group, result), in the context of the sender, once queued. */
SEC("tp_btf/signal_generate")
int on_signal(__u64 *ctx)
{
	__u32 signal = ctx[0];
	__s32 code = 0;
	struct process_key key = {};
	struct process *process;

	/* Each end of a child sends one. */
	if (signal == SIGCHLD || (__u32)ctx[4] != TRACE_SIGNAL_DELIVERED)
		return 0;
	process = process_of((struct task_struct *)ctx[2], &key);
	if (!process || !is_sent_by_current(signal, ctx[1], &code))
		return 0;
	/* kill, tkill and sigqueue are not above 0, what the kernel itself sends is. */
	if (code > 0 && !is_fault(signal))
		return 0;
	process->sender.pid = bpf_get_current_pid_tgid() >> 32;
	process->sender.uid = bpf_get_current_uid_gid();
	process->sender.signal = signal;
	process->sender.fault = code > 0 ? code : 0;
	bpf_get_current_comm(process->sender.comm, sizeof(process->sender.comm));
	return 0;
}

#endif
