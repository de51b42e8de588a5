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

#define NR_LIMIT 512
/* What mmap and its like return instead of an address (include/linux/err.h). */
#define IS_ERROR(result) ((__u64)(result) >= (__u64)-4095)

#endif
