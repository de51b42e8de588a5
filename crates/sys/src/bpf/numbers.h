/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's numbers of the types that task.bpf.c casts to. A part of it: `constants` is its. */
#ifndef PLIMSOLL_NUMBERS_H
#define PLIMSOLL_NUMBERS_H

/* The kernel types whose members are read, in the order of types.rs. */
enum {
	TYPE_task_struct,
	TYPE_signal_struct,
	TYPE_sighand_struct,
	TYPE_mm_struct,
	TYPE_task_delay_info,
	TYPE_linux_binprm,
	TYPE_cred,
	TYPE_bpf_array,
	TYPE_css_set,
	TYPE_cgroup_subsys_state,
	TYPE_cgroup,
	TYPE_cgroup_root,
	TYPE_kernfs_node,
	TYPE_upid,
	TYPES,
};

/* libbpf is given a part of the kernel's types, in which they have other numbers. */
#define NUMBER_OF(type) (constants.numbers[TYPE_##type])
#include "read.h"

#endif
