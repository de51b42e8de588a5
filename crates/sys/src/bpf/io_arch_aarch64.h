/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* System calls of aarch64 (asm-generic/unistd.h): numbers and arguments. */
#ifndef PLIMSOLL_IO_ARCH_AARCH64_H
#define PLIMSOLL_IO_ARCH_AARCH64_H

#define NR_IO_SUBMIT 2
#define NR_EXECVE 221
#define NR_EXECVEAT 281
#define NR_UNLINKAT 35
#define NR_RENAMEAT 38
#define NR_TRUNCATE 45
#define NR_FTRUNCATE 46
#define NR_OPENAT 56
#define NR_CLOSE 57
#define NR_LSEEK 62
#define NR_READ 63
#define NR_WRITE 64
#define NR_READV 65
#define NR_WRITEV 66
#define NR_PREAD64 67
#define NR_PWRITE64 68
#define NR_PREADV 69
#define NR_PWRITEV 70
#define NR_SENDFILE 71
#define NR_SPLICE 76
#define NR_TEE 77
#define NR_SENDTO 206
#define NR_RECVFROM 207
#define NR_SENDMSG 211
#define NR_RECVMSG 212
#define NR_MMAP 222
#define NR_RECVMMSG 243
#define NR_SENDMMSG 269
#define NR_RENAMEAT2 276
#define NR_COPY_FILE_RANGE 285
#define NR_PREADV2 286
#define NR_PWRITEV2 287
#define NR_MOUNT 40
#define NR_PIVOT_ROOT 41
#define NR_MOVE_MOUNT 429
#define NR_OPENAT2 437

/* Flags of open (asm/fcntl.h). */
#define FLAG_TRUNC 01000u
#define FLAG_APPEND 02000u
#define FLAG_DIRECT 0200000u
#define FLAG_TMPFILE 020000000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	__u64 regs[31];
	__u64 pc;
	__u64 orig_x0;
	__s32 syscallno;
};

struct thread_info {
	unsigned long flags;
};

struct task_struct___arch {
	struct thread_info thread_info;
};
#pragma clang attribute pop

#define CALL_NR(registers) ((__u32)(registers)->syscallno)
/* The result has taken the place of the first argument. */
#define CALL_ARG0(registers) ((registers)->orig_x0)
#define CALL_ARG1(registers) ((registers)->regs[1])
#define CALL_ARG2(registers) ((registers)->regs[2])
#define CALL_ARG3(registers) ((registers)->regs[3])
#define CALL_ARG4(registers) ((registers)->regs[4])
/* Where the program goes on. */
#define NEXT_INSTRUCTION(registers) ((registers)->pc)
/* Not in a page fault or an interrupt of the program. */
#define IS_IN_CALL(registers) ((registers)->syscallno >= 0)
/* A call by the 32 bit interface (TIF_32BIT). */
#define IS_COMPAT(task) (((struct task_struct___arch *)(task))->thread_info.flags & (1 << 22))

#endif
