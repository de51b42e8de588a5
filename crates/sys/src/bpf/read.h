/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Members of kernel structures that pointers lead to. Where the kernel lets a program cast (6.2), a
 * member is one load; before, a call each.
 */
#ifndef PLIMSOLL_READ_H
#define PLIMSOLL_READ_H

/* The kernel's number of a type, which who includes this may have from elsewhere; 0: not known. */
#ifndef NUMBER_OF
#define NUMBER_OF(type) bpf_core_type_id_kernel(struct type)
#endif
#define CASTS(type) (bpf_ksym_exists(bpf_rdonly_cast) && NUMBER_OF(type))
#define FAST CASTS(task_struct)
#define CAST(type, object) \
	((struct type *)bpf_rdonly_cast((const void *)(object), NUMBER_OF(type)))
/* A member of a kernel structure; `type` names it. */
#define READ_MEMBER(type, object, member) \
	(CASTS(type) ? CAST(type, object)->member : BPF_CORE_READ(object, member))

#endif
