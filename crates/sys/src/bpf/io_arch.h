/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How this processor numbers and passes system calls. */
#ifndef PLIMSOLL_IO_ARCH_H
#define PLIMSOLL_IO_ARCH_H

#if defined(PLIMSOLL_X86_64)
#include "io_arch_x86_64.h"
#elif defined(PLIMSOLL_AARCH64)
#include "io_arch_aarch64.h"
#else
#error "io.bpf.c knows no system calls of this processor"
#endif

/* Calls by the 32 bit interface that open files or move bytes; its numbers are those of i386 on
 * x86-64, and on aarch64 those of arm, which are the same but for those from 300 on. */
static __always_inline bool compat_moves(__u64 nr)
{
	switch (nr) {
	case 3: /* read */
	case 4: /* write */
	case 5: /* open */
	case 8: /* creat */
	case 145: /* readv */
	case 146: /* writev */
	case 180: /* pread64 */
	case 181: /* pwrite64 */
	case 187: /* sendfile */
	case 239: /* sendfile64 */
#if defined(PLIMSOLL_X86_64)
	case 102: /* socketcall */
	case 295: /* openat */
	case 313: /* splice */
	case 315: /* tee */
	case 333: /* preadv */
	case 334: /* pwritev */
	case 369: /* sendto */
	case 370: /* sendmsg */
	case 371: /* recvfrom */
	case 372: /* recvmsg */
	case 377: /* copy_file_range */
	case 378: /* preadv2 */
	case 379: /* pwritev2 */
#else
	case 290: /* sendto */
	case 292: /* recvfrom */
	case 296: /* sendmsg */
	case 297: /* recvmsg */
	case 322: /* openat */
	case 340: /* splice */
	case 342: /* tee */
	case 361: /* preadv */
	case 362: /* pwritev */
	case 391: /* copy_file_range */
	case 392: /* preadv2 */
	case 393: /* pwritev2 */
#endif
	case 437: /* openat2 */
		return true;
	}
	return false;
}

#define NR_LIMIT 512
/* What mmap and its like return instead of an address (include/linux/err.h). */
#define IS_ERROR(result) ((__u64)(result) >= (__u64)-4095)

#endif
