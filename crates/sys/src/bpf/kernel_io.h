/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of io.bpf.c need of the kernel beside kernel.h; the same rules. */
#ifndef PLIMSOLL_KERNEL_IO_H
#define PLIMSOLL_KERNEL_IO_H

#include "kernel.h"

#define S_IFMT 0170000
#define S_IFCHR 0020000
#define S_IFBLK 0060000
#define FMODE_READ 1u
#define FMODE_WRITE 2u
#define FMODE_CREATED 0x100000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* For its one pointer: an element of an array of pointers. */
struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
	unsigned int i_nlink;
	long long i_size;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
};

struct io_uring_cqe {
	__s32 res;
};

/* The part of a task that concerns files. */
struct task_struct___io {
	struct files_struct *files;
};

#pragma clang attribute pop

#endif
