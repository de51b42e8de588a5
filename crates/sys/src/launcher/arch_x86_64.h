/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* System calls, entry point and signal return of x86-64. */
#define NR_read 0
#define NR_close 3
#define NR_rt_sigaction 13
#define NR_rt_sigprocmask 14
#define NR_sendto 44
#define NR_recvfrom 45
#define NR_execve 59
#define NR_exit_group 231
#define NR_wait4 61
#define NR_waitid 247
#define NR_kill 62
#define NR_getrusage 98
#define NR_clone 56
#define NR_prctl 157
#define NR_clock_gettime 228
#define NR_openat 257
#define NR_ppoll 271
#define NR_getpid 39
#define NR_setsid 112
#define NR_close_range 436
#define NR_seccomp 317
#define NR_nanosleep 35
#define NR_clock_nanosleep 230
#define NR_sched_yield 24
#define NR_fcntl 72

static long syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#ifndef BUILT_IN
/* The kernel puts argc at the stack pointer; hand that address to C on an aligned stack. */
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n"
	"	hlt\n");
#endif

/* x86-64 has no default return from a signal handler. */
#define NEEDS_RESTORER 1
void restore_signal(void);
__asm__(".globl restore_signal\n"
	"restore_signal:\n"
	"	mov $15, %eax\n"
	"	syscall\n");

/* clone(flags, stack, parent_tid, child_tid, tls) */
#define CLONE_ARGS(flags) (flags), 0, 0, 0, 0, 0
