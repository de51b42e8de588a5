/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* System calls of x86-64: numbers and arguments. */
#ifndef PLIMSOLL_IO_ARCH_X86_64_H
#define PLIMSOLL_IO_ARCH_X86_64_H

#define NR_READ 0
#define NR_WRITE 1
#define NR_OPEN 2
#define NR_CLOSE 3
#define NR_LSEEK 8
#define NR_MMAP 9
#define NR_PREAD64 17
#define NR_PWRITE64 18
#define NR_READV 19
#define NR_WRITEV 20
#define NR_SENDFILE 40
#define NR_SENDTO 44
#define NR_RECVFROM 45
#define NR_SENDMSG 46
#define NR_RECVMSG 47
#define NR_TRUNCATE 76
#define NR_FTRUNCATE 77
#define NR_EXECVE 59
#define NR_RENAME 82
#define NR_RMDIR 84
#define NR_CREAT 85
#define NR_UNLINK 87
#define NR_RECVMMSG 299
#define NR_SENDMMSG 307
#define NR_PIVOT_ROOT 155
#define NR_MOUNT 165
#define NR_IO_SUBMIT 209
#define NR_OPENAT 257
#define NR_UNLINKAT 263
#define NR_RENAMEAT 264
#define NR_SPLICE 275
#define NR_TEE 276
#define NR_PREADV 295
#define NR_PWRITEV 296
#define NR_RENAMEAT2 316
#define NR_EXECVEAT 322
#define NR_COPY_FILE_RANGE 326
#define NR_PREADV2 327
#define NR_PWRITEV2 328
#define NR_MOVE_MOUNT 429
#define NR_OPENAT2 437

/* Flags of open (asm/fcntl.h). */
#define FLAG_TRUNC 01000u
#define FLAG_APPEND 02000u
#define FLAG_DIRECT 040000u
#define FLAG_TMPFILE 020000000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long r8;
	unsigned long r10;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
};

struct thread_info {
	__u32 status;
};

struct task_struct___arch {
	struct thread_info thread_info;
};
#pragma clang attribute pop

#define CALL_NR(regs) ((regs)->orig_ax)
#define CALL_ARG0(regs) ((regs)->di)
#define CALL_ARG1(regs) ((regs)->si)
#define CALL_ARG2(regs) ((regs)->dx)
#define CALL_ARG3(regs) ((regs)->r10)
#define CALL_ARG4(regs) ((regs)->r8)
/* Where the program goes on. */
#define NEXT_INSTRUCTION(regs) ((regs)->ip)
/* Not in a page fault or an interrupt of the program. */
#define IS_IN_CALL(regs) ((long)(regs)->orig_ax >= 0)
/* A call by the 32 bit interface (TS_COMPAT). */
#define IS_COMPAT(task) (((struct task_struct___arch *)(task))->thread_info.status & 2)

#endif
