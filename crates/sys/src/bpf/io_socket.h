/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is known of a socket: whose ends it has, and how its connection went. */
#ifndef PLIMSOLL_IO_SOCKET_H
#define PLIMSOLL_IO_SOCKET_H

/* linux/socket.h, net/tcp_states.h, linux/if.h; never renumbered. */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define IFF_LOOPBACK 8u
#define MSG_PEEK 2u
#define MSG_TRUNC 0x20u
#define MSG_ERRQUEUE 0x2000u

/* By inode number. The least used give way. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SOCKETS_MAX);
	__type(key, __u64);
	__type(value, struct socket_info);
} io_sockets SEC(".maps");

/* Too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct socket_info);
} socket_scratch SEC(".maps");

static const struct socket_info empty_socket;

static __always_inline bool is_zero(const __u32 *address)
{
	return !(address[0] | address[1] | address[2] | address[3]);
}

/* 127.0.0.0/8 in network order, also as a part of an IPv6 address, and ::1. */
static __always_inline bool is_local_host(const __u32 *address)
{
	const __u8 *last = (const __u8 *)&address[3];

	if (address[0] | address[1])
		return false;
	if (last[0] == 127 && (address[2] == 0 || address[2] == __builtin_bswap32(0xffff)))
		return true;
	return !address[2] && address[3] == __builtin_bswap32(1);
}

/* IPv4 addresses have their place at the end. */
static __always_inline void read_ends(struct socket_info *info, struct sock *sk)
{
	if (info->family == AF_INET) {
		info->local[3] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		info->peer[3] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else {
		bpf_core_read(info->local, sizeof(info->local), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(info->peer, sizeof(info->peer), &sk->__sk_common.skc_v6_daddr);
	}
	info->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	/* A connection that was reset has given its port back, and still tells it by its name. */
	if (!info->local_port)
		info->local_port = __builtin_bswap16(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	info->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
}

/* Its own name, else that of the other end. */
static __always_inline void read_unix_name(struct socket_info *info, struct sock *sk)
{
	struct unix_address *name = BPF_CORE_READ((struct unix_sock *)sk, addr);
	struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);
	__u32 bytes;

	if (!name && peer)
		name = BPF_CORE_READ((struct unix_sock *)peer, addr);
	if (!name)
		return;
	/* Behind the family, two bytes. */
	bytes = BPF_CORE_READ(name, len) - 2;
	if (bytes > sizeof(info->path))
		bytes = sizeof(info->path);
	bpf_probe_read_kernel(info->path, bytes, (void *)&name->name[0] + 2);
	info->path_bytes = bytes;
}

static __always_inline __u32 whose_ends(struct socket_info *info, struct sock *sk)
{
	struct dst_entry *route = BPF_CORE_READ(sk, sk_dst_cache);
	bool connected = !is_zero(info->peer);

	if (connected ? is_local_host(info->peer) : is_local_host(info->local))
		return ROW_INET | ROW_LOOPBACK;
	if (!connected)
		return ROW_INET | ROW_ENDS_UNKNOWN;
	if (!((info->local[0] ^ info->peer[0]) | (info->local[1] ^ info->peer[1]) |
	      (info->local[2] ^ info->peer[2]) | (info->local[3] ^ info->peer[3])))
		return ROW_INET | ROW_LOOPBACK;
	if (route && BPF_CORE_READ(route, dev, flags) & IFF_LOOPBACK)
		return ROW_INET | ROW_LOOPBACK;
	return ROW_INET;
}

static __always_inline void read_connection(struct socket_info *info, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;

	info->retransmits = BPF_CORE_READ(tcp, total_retrans);
	info->rtt_us = BPF_CORE_READ(tcp, srtt_us) >> 3;
}

/* How the connection of a socket that is known went so far; whether it is known. */
static __always_inline bool renew_connection(struct sock *sk, __u64 inode)
{
	struct socket_info *info = bpf_map_lookup_elem(&io_sockets, &inode);

	if (info && info->type == SOCK_STREAM && info->protocol == IPPROTO_TCP)
		read_connection(info, sk);
	return info;
}

/* Puts down what is known of the socket of `file`; returns flags of a row. Global: the verifier
 * checks it once. */
__attribute__((noinline)) __u32 describe_socket(__u64 file, __u64 inode)
{
	struct socket *socket = BPF_CORE_READ((struct file *)file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	struct socket_info *info;
	__u32 zero = 0, flags = 0;
	__u64 key = inode;

	info = bpf_map_lookup_elem(&socket_scratch, &zero);
	if (!info || !sk)
		return 0;
	__builtin_memcpy(info, &empty_socket, sizeof(*info));
	info->inode = inode;
	info->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	info->type = BPF_CORE_READ(sk, sk_type);
	info->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (info->family == AF_INET || info->family == AF_INET6) {
		read_ends(info, sk);
		flags = whose_ends(info, sk);
	} else if (info->family == AF_UNIX) {
		read_unix_name(info, sk);
	}
	bpf_map_update_elem(&io_sockets, &key, info, 0);
	renew_connection(sk, inode);
	return flags;
}

/* The socket of `file` is about to be closed: after that its port may be gone. */
__attribute__((noinline)) int leave_socket(__u64 file, __u64 inode)
{
	struct socket *socket = BPF_CORE_READ((struct file *)file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	if (sk && !renew_connection(sk, inode))
		describe_socket(file, inode);
	return 0;
}

/* (socket, old state, new state): a connection that is known ends, or is half closed. One that is
 * only the kernel's has no file. */
SEC("tp_btf/inet_sock_set_state")
int on_connection(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	struct inode *inode = socket ? BPF_CORE_READ(socket, file, f_inode) : NULL;

	if (inode)
		renew_connection(sk, BPF_CORE_READ(inode, i_ino));
	return 0;
}

#endif
