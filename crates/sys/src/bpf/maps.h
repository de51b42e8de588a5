/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who is followed: the maps that the programs of task.bpf.c keep, and those of io.bpf.c read.
 *
 * The first process has a mark in task storage, set from outside; how its descendants are found is
 * told in whose.h. Each is a member before it runs, so that nothing slips through.
 */
#ifndef PLIMSOLL_MAPS_H
#define PLIMSOLL_MAPS_H

#include <bpf/bpf_helpers.h>
#include "task.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct process_key);
} members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, struct process_key);
	__type(value, struct process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RUN_SLOTS);
	__type(key, __u32);
	__type(value, struct run);
} runs SEC(".maps");

static __always_inline struct process_key *key_of(struct task_struct *task)
{
	return bpf_task_storage_get(&members, task, 0, 0);
}

#endif
