/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Datagrams, one by one: which of them stay on the machine. A socket that is connected to nobody
 * does not tell; the address of the other end does, which the call gives or is given.
 */
#ifndef PLIMSOLL_IO_DATAGRAM_H
#define PLIMSOLL_IO_DATAGRAM_H

/* How bytes are moved, and what the argument of a call that leads to the other end's address is. */
#define TRANSFER_READS 1u
#define TRANSFER_BY_HEADER 2u /* a struct msghdr, which names it; else the address itself */

#define MAPPED __builtin_bswap32(0xffff)

/* The start of a struct msghdr. */
struct message_name {
	__u64 at;
	__u32 bytes;
	__u32 unused;
};

/* A struct sockaddr_in or sockaddr_in6. */
struct internet_name {
	__u16 family;
	__u16 port;
	__u32 address; /* of IPv6 what is called flow */
	__u32 address6[4];
};

/* Puts the address of the other end into `key`; whether there is one. */
static __always_inline bool read_peer(struct own_address *key, __u32 how, __u64 at)
{
	struct internet_name name;

	if (how & TRANSFER_BY_HEADER) {
		struct message_name header;

		if (bpf_probe_read_user(&header, sizeof(header), (void *)at) || !header.bytes)
			return false;
		at = header.at;
	}
	/* That of IPv4 may lie at the end of what can be read. */
	if (!at || bpf_probe_read_user(&name, 8, (void *)at))
		return false;
	if (name.family == AF_INET) {
		key->address[2] = MAPPED;
		key->address[3] = name.address;
		return true;
	}
	if (name.family != AF_INET6)
		return false;
	return !bpf_probe_read_user(key->address, sizeof(key->address), (void *)(at + 8));
}

/* Of nobody: what is sent there comes back. */
static __always_inline bool is_unspecified(const __u32 *address)
{
	return !(address[0] | address[1] | address[3]) &&
	       (!address[2] || address[2] == MAPPED);
}

/* Others may have the same on another link: fe80::/10. */
static __always_inline bool is_of_link(const __u32 *address)
{
	return (address[0] & __builtin_bswap32(0xffc00000)) == __builtin_bswap32(0xfe800000);
}

/* Counts a transfer with the address of the other end. Global: the verifier checks it once. */
__attribute__((noinline)) int count_datagram(struct io_slot *slot, __u32 how, __s64 result,
					     __u64 peer)
{
	bool is_read = how & TRANSFER_READS, local;
	struct own_address key = {};
	struct socket *socket;
	struct file *file;

	if (!slot || !read_peer(&key, how, peer))
		return 0;
	local = is_local_host(key.address) || is_unspecified(key.address);
	if (!local) {
		file = (struct file *)slot->file;
		socket = BPF_CORE_READ(file, private_data);
		key.network = BPF_CORE_READ(socket, sk, __sk_common.skc_net.net, ns.inum);
		local = bpf_map_lookup_elem(&io_own, &key);
	}
	if (!local) {
		if (is_of_link(key.address))
			return 0;
		__builtin_memset(key.address, 0, sizeof(key.address));
		if (!bpf_map_lookup_elem(&io_own, &key))
			return 0;
	}
	if (is_read && local)
		slot->row.local_received += result;
	else if (is_read)
		slot->row.remote_received += result;
	else if (local)
		slot->row.local_sent += result;
	else
		slot->row.remote_sent += result;
	return 0;
}

struct messages {
	struct io_thread *thread;
	__u64 vector;
	__u32 fd;
	__u32 how;
};

int transfer(struct io_thread *thread, __u32 fd, __u32 how, __s64 result, __u64 peer);

/* struct mmsghdr: a struct msghdr of 56 bytes, and what was moved. */
static long count_message(__u32 index, struct messages *messages)
{
	__u64 at = messages->vector + index * 64ull;
	__u32 bytes = 0;

	bpf_probe_read_user(&bytes, sizeof(bytes), (void *)(at + 56));
	transfer(messages->thread, messages->fd, messages->how, bytes, at);
	return 0;
}

/* Each message is a transfer of its own. */
static __always_inline int count_messages(struct io_thread *thread, __u32 fd, __u64 vector,
					  __u32 is_read, __s64 result)
{
	struct messages messages = {
		.thread = thread, .vector = vector, .fd = fd,
		.how = is_read | TRANSFER_BY_HEADER,
	};

	if (result < 0)
		return transfer(thread, fd, is_read, result, 0);
	bpf_loop(result > 1024 ? 1024 : result, count_message, &messages, 0);
	return 0;
}

/* What recvfrom moved: asked for it, it tells the length of a datagram that had no room. */
static __always_inline __s64 received(struct pt_regs *regs, __s64 result)
{
	__s64 room = CALL_ARG2(regs);

	return CALL_ARG3(regs) & MSG_TRUNC && result > room ? room : result;
}

static __always_inline int receive(struct io_thread *thread, struct pt_regs *regs, __u32 action,
				   __s64 result)
{
	__u64 flags = action == RECEIVE_MESSAGE ? CALL_ARG2(regs) : CALL_ARG3(regs);
	__u32 fd = CALL_ARG0(regs);

	/* Only looks, or reads errors. */
	if (flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	if (action == RECEIVE)
		return transfer(thread, fd, TRANSFER_READS, received(regs, result),
				CALL_ARG4(regs));
	if (action == RECEIVE_MESSAGE)
		return transfer(thread, fd, TRANSFER_READS | TRANSFER_BY_HEADER, result,
				CALL_ARG1(regs));
	return count_messages(thread, fd, CALL_ARG1(regs), TRANSFER_READS, result);
}

#endif
