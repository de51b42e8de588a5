/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Installing the filter of system calls that the monitor sends; it is made in ../seccomp.rs. */
#ifndef PLIMSOLL_LAUNCHER_FILTER_H
#define PLIMSOLL_LAUNCHER_FILTER_H

enum {
	SECCOMP_FILTER = 1,
	/* Older kernels slow a filtered program down against speculation, which is not asked for. */
	SECCOMP_SPEC_ALLOW = 4,
	PR_NO_NEW_PRIVS = 38,
	ERR_ACCES = -13, ERR_INVAL = -22,
	INSTRUCTION_BYTES = 8,
};

struct filter_words {
	unsigned short count;
	const void *program;
};

static long try_filter(const struct filter_words *filter)
{
	long error = SYS3(NR_seccomp, SECCOMP_FILTER, SECCOMP_SPEC_ALLOW, filter);

	return error == ERR_INVAL ? SYS3(NR_seccomp, SECCOMP_FILTER, 0, filter) : error;
}

/* Without CAP_SYS_ADMIN the kernel wants the right to new privileges in return. */
static s32 install_filter(const char *program, long bytes)
{
	struct filter_words filter = { (unsigned short)(bytes / INSTRUCTION_BYTES), program };
	long error = try_filter(&filter);

	if (error != ERR_ACCES)
		return (s32)error;
	error = SYS5(NR_prctl, PR_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (error == 0)
		error = try_filter(&filter);
	return error == 0 ? FILTER_WITHOUT_PRIVILEGES : (s32)error;
}

#endif
