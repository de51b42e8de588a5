/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who waits for nobody: the kernel takes the children of such a process away as they end. */
#ifndef PLIMSOLL_SIGCHLD_H
#define PLIMSOLL_SIGCHLD_H

#define SIGCHLD 17
#define SIG_IGN ((void *)1)
#define SA_NOCLDWAIT 2

static __always_inline bool waits_for_nobody(struct task_struct *parent)
{
	struct sighand_struct *sighand = READ_MEMBER(task_struct, parent, sighand);

	return READ_MEMBER(sighand_struct, sighand, action[SIGCHLD - 1].sa.sa_handler) == SIG_IGN ||
	       READ_MEMBER(sighand_struct, sighand, action[SIGCHLD - 1].sa.sa_flags) & SA_NOCLDWAIT;
}

/* Whether nobody will wait for the process: it vanishes, and its parent takes over nothing. */
static __always_inline bool is_auto_reaped(struct task_struct *task)
{
	struct task_struct *leader = READ_MEMBER(task_struct, task, group_leader);

	return READ_MEMBER(task_struct, leader, exit_signal) == SIGCHLD &&
	       !READ_MEMBER(task_struct, leader, ptrace) &&
	       waits_for_nobody(READ_MEMBER(task_struct, leader, real_parent));
}

#endif
