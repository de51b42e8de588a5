/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which control groups a process is in: their numbers (kernfs_node.id, the inode number of the
 * folder), told with its execs and its end, and the path of each group when it is made. Only where
 * everyone is followed: the programs of `plimsoll run` do not take the time for it.
 */
#ifndef PLIMSOLL_GROUPS_H
#define PLIMSOLL_GROUPS_H

static __always_inline __u64 number_of_group(struct cgroup *group)
{
	struct kernfs_node *node = READ_MEMBER(cgroup, group, kn);

	return READ_MEMBER(kernfs_node, node, id);
}

/* In the hierarchy of version 2, and in those of version 1 with a controller that is told of. */
static __always_inline void read_groups(__u64 *groups, struct task_struct *task)
{
	struct css_set *set;

	if (!constants.everyone)
		return;
	set = READ_MEMBER(task_struct, task, cgroups);
	groups[0] = number_of_group(READ_MEMBER(css_set, set, dfl_cgrp));
	for (int i = 0; i < GROUPS_TOLD - 1; i++) {
		__u32 subsystem = constants.subsystems[i];
		struct cgroup_subsys_state *state = NULL;
		__u64 at;

		/* What another event left behind may be there. */
		groups[i + 1] = 0;
		if (!subsystem)
			continue;
		at = (__u64)set + bpf_core_field_offset(set->subsys) + 8 * (subsystem - 1);
		bpf_probe_read_kernel(&state, sizeof(state), (void *)at);
		if (state)
			groups[i + 1] =
				number_of_group(READ_MEMBER(cgroup_subsys_state, state, cgroup));
	}
}

/* (cgroup, path). An event is too large for the stack. */
SEC("tp_btf/cgroup_mkdir")
int on_group(__u64 *ctx)
{
	struct cgroup *group = (struct cgroup *)ctx[0];
	struct event_group *event;
	struct process *everyones;
	__u32 zero = 0;
	__u64 total;
	long bytes;

	everyones = bpf_map_lookup_elem(&origin, &zero);
	event = bpf_map_lookup_elem(&scratch, &zero);
	if (!everyones || !event)
		return 0;
	event->head.kind = EVENT_GROUP;
	event->head.pid = 0;
	event->head.at_ns = bpf_ktime_get_boot_ns();
	event->head.start_ns = 0;
	event->number = number_of_group(group);
	event->hierarchy = BPF_CORE_READ(group, root, hierarchy_id);
	bytes = bpf_probe_read_kernel_str(event->path, GROUP_PATH_BYTES_MAX, (void *)ctx[1]);
	if (bytes < 1 || bytes > GROUP_PATH_BYTES_MAX)
		bytes = 1;
	event->path_bytes = bytes - 1;
	total = __builtin_offsetof(struct event_group, path) + bytes - 1;
	barrier_var(total);
	if (total > sizeof(*event))
		total = sizeof(*event);
	emit(everyones, event, total);
	return 0;
}

#endif
