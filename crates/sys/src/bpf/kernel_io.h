/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of io.bpf.c need of the kernel beside kernel.h; the same rules. */
#ifndef PLIMSOLL_KERNEL_IO_H
#define PLIMSOLL_KERNEL_IO_H

#include "kernel.h"

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFCHR 0020000
#define S_IFBLK 0060000
#define S_IFSOCK 0140000
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

struct address_space {
	struct inode *host;
};

struct folio {
	struct address_space *mapping;
	unsigned long _flags_1;
};

/* Before 6.6 the order has a place of its own. */
struct folio___old {
	unsigned char _folio_order;
};

enum pageflags {
	PG_head = 6,
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
	unsigned int i_nlink;
	__u32 i_generation;
	long long i_size;
	struct address_space *i_mapping;
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
	void *private_data;
	const void *f_op;
	struct inode *f_inode;
	struct address_space *f_mapping;
	struct path f_path;
};

/* The file below another one. */
struct backing_file {
	struct path user_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct in6_addr {
	__u32 words;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_type;
	__u16 sk_protocol;
	struct dst_entry *sk_dst_cache;
	struct socket *sk_socket;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct inet_sock {
	__be16 inet_sport;
};

struct tcp_sock {
	__u32 total_retrans;
	__u32 srtt_us;
};

struct sockaddr_un {
	unsigned short sun_family;
};

struct unix_address {
	int len;
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
};

struct open_how {
	__u64 flags;
};

/* A request begins with what its kind needs. */
struct io_open {
	__u32 file_slot; /* 0: a descriptor */
	struct open_how how;
};

struct io_splice {
	int splice_fd_in;
	unsigned int flags;
};

struct io_uring_cqe {
	__s32 res;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

/* What is mapped at an address. */
struct vm_area_struct {
	struct file *vm_file;
};

/* The files of an exec: `interp` is `filename` until a script names another one. */
struct linux_binprm___io {
	struct file *file;
	const char *filename;
	const char *interp;
};

/* The part of a task that concerns files. */
struct task_struct___io {
	struct files_struct *files;
	struct fs_struct *fs;
};

#pragma clang attribute pop

#endif
