/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* System calls and entry point of 64-bit Arm. */
#define NR_read 63
#define NR_close 57
#define NR_rt_sigaction 134
#define NR_rt_sigprocmask 135
#define NR_sendto 206
#define NR_recvfrom 207
#define NR_execve 221
#define NR_exit_group 94
#define NR_wait4 260
#define NR_waitid 95
#define NR_kill 129
#define NR_getrusage 165
#define NR_clone 220
#define NR_prctl 167
#define NR_clock_gettime 113
#define NR_openat 56
#define NR_ppoll 73
#define NR_getpid 172
#define NR_setsid 157
#define NR_close_range 436
#define NR_seccomp 277
#define NR_nanosleep 101
#define NR_clock_nanosleep 115
#define NR_sched_yield 124
#define NR_fcntl 25

static long syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#ifndef BUILT_IN
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	and sp, x0, #-16\n"
	"	bl start\n"
	"	brk #0\n");
#endif

#define NEEDS_RESTORER 0

/* clone(flags, stack, parent_tid, tls, child_tid) */
#define CLONE_ARGS(flags) (flags), 0, 0, 0, 0, 0
