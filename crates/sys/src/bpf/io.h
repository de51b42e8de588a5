/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of io.bpf.c and files.rs share: fixed widths, units in the names. */
#ifndef PLIMSOLL_IO_H
#define PLIMSOLL_IO_H

/* Rows of all runs of a node together. */
#define ROWS_MAX (1 << 17)
/* Folders that have been told, of all runs together; the least used give way. */
#define FOLDERS_MAX (1 << 14)
#define SOCKETS_MAX (1 << 13)
#define SOCKET_PATH_BYTES_MAX 108
#define OWN_ADDRESSES_MAX (1 << 12)
/* Scripts that one exec can go through: each names the next one as its interpreter. */
#define SCRIPTS_MAX 5
/* Powers of two of a transfer's size: 0, 1, 2..3, 4..7, ... 1 GiB and more. */
#define SIZE_CLASSES 32
/* Exact sizes that are counted at a time. */
#define EXACT_SIZES 8
/* Files that a thread counts for itself at a time, by the low bits of the descriptor. */
#define IO_SLOTS 4
#define LEAF_BYTES_MAX 64
/* The reader is woken when a run has so many rows, or so many bytes in its ring. */
#define ROWS_WAKE 4096
#define RING_BYTES_WAKE (1 << 18)
#define FOLDER_BYTES_MAX 4096
#define FOLDER_DEPTH_MAX 64
#define COMPONENT_BYTES_MAX 256
/* Folders that wait for the reader where its ring is full: as many as a run has rows. */
#define FOLDERS_KEPT_MAX (1 << 16)
#define FOLDER_KEPT_BYTES 512

/* In a row that has only pages: those of the inode, by whatever name. */
#define ANY_NAME (~0ull)

/* linux/magic.h: event counters, timers, epoll and the like. */
#define ANON_INODE_FS_MAGIC 0x09041934u
/* Its files have pages of the inode below. */
#define OVERLAYFS_MAGIC 0x794c7630u

/* What tells files apart. */
struct file_id {
	__u64 inode;
	/* Of its last component and its folder: tells links apart; or ANY_NAME. */
	__u64 name;
	__u32 device;
	__u32 generation; /* tells the files apart that had this number one after another */
};

/* A file as one thread of one run uses it. */
struct row_key {
	__u64 run;	  /* id of the run */
	__u64 process_ns; /* process_key.start_ns */
	struct file_id file;
	__u32 tgid;
	__u32 tid;   /* 0: not by the thread itself (io_uring) */
	__u32 epoch; /* rows of past epochs are written no more */
	__u32 unused;
};

/* Errors of writes for which there was no room, or no more by a quota. */
#define ENOSPC 28
#define EDQUOT 122

/* Transfers of one size. */
struct exact_size {
	__u32 bytes;
	__u32 reads;
	__u32 writes;
};

struct row {
	/* What most files need, together: in a table of many these are the cache lines touched. */
	__u64 first_ns; /* CLOCK_BOOTTIME; 0: nothing is counted here */
	__u64 last_jiffies;
	__s64 size_last_bytes;
	__u64 opens;
	__u64 closes;
	__u64 reads;
	__u64 bytes_read;
	__u32 flags;
	__u32 mode;
	struct exact_size sizes[EXACT_SIZES];
	__u64 writes;
	__u64 bytes_written;
	__u64 seeks;
	__u64 failed;
	__u64 time_ns; /* spent in calls, while somebody asks for it */
	__u64 executions;
	__u64 no_space; /* of `failed`: writes for which there was no room */
	/* Pages of the page cache: filled by calls that read, made dirty by calls that write, and the
	 * same by page faults on a mapping. */
	__u32 pages_in;
	__u32 pages_dirtied;
	__u32 pages_mapped_in;
	__u32 pages_mapped_dirtied;
	__s64 size_first_bytes; /* or SIZE_UNKNOWN */
	__u64 folder; /* told by an event_folder */
	__u64 process_start_ns; /* CLOCK_BOOTTIME, as events have it */
	__u32 special_device; /* of a device file */
	__u32 magic; /* of the file system */
	/* Of a file of overlayfs: the file below, which has its pages; inode 0: not known. */
	__u64 below_inode;
	__u32 below_device;
	__u32 below_generation;
	/* Of a socket: what is known of single datagrams, bytes; see ROW_ENDS_UNKNOWN. */
	__u64 local_sent;
	__u64 local_received;
	__u64 remote_sent;
	__u64 remote_received;
	char leaf[LEAF_BYTES_MAX]; /* last component, or the start of it; NUL if shorter */
};

/* As `ROW_BYTES` and `DUMPED_BYTES` of files/layout.rs have it. */
_Static_assert(sizeof(struct row) == 376, "the decoder knows another size of a row");

/* In front of a row that a living thread has not yet put down. */
struct dumped {
	__u64 runs[RUNS_PER_PROCESS]; /* 0 behind the last */
	__u64 process_ns;
	struct file_id file;
	__u32 tgid;
	__u32 unused;
};

_Static_assert(sizeof(struct dumped) == RUNS_PER_PROCESS * 8 + 40,
	       "likewise what is in front of it");

/* Flags of a row. */
#define SIZE_UNKNOWN (-1ll)
#define ROW_CREATED 1u
#define ROW_TRUNCATED 2u
#define ROW_MAPPED 4u
#define ROW_DIRECT 8u
#define ROW_APPENDED 16u
#define ROW_OPENED_TO_READ 32u
#define ROW_OPENED_TO_WRITE 64u
#define ROW_SIZES_LEFT 128u /* some transfers are in `size_classes` */
#define ROW_UNLINKED 512u /* it had no name left when it was last written or closed */
#define ROW_INET 1024u /* a socket of IPv4 or IPv6 */
#define ROW_LOOPBACK 2048u /* whose packets do not leave the machine */
#define ROW_ENDS_UNKNOWN 4096u /* it is connected to nobody: each may leave it or not */
#define ROW_FOLDER_LOST 8192u /* its folder could not be told when it was met */
#define ROW_WHOLE_NAME 256u /* the name is that of `folder`, whole */

/* Transfers of a row whose exact size is no longer kept. */
struct size_classes {
	__u32 reads[SIZE_CLASSES];
	__u32 writes[SIZE_CLASSES];
};

/* A socket that a task uses. */
struct socket_info {
	__u64 inode;
	__u32 local[4]; /* network order; an IPv4 address is the last */
	__u32 peer[4];
	__u64 retransmits; /* of TCP, segments */
	__u32 rtt_us; /* of TCP, smoothed; 0: none measured */
	__u16 family;
	__u16 type;
	__u16 protocol;
	__u16 local_port;
	__u16 peer_port;
	__u8 unused;
	__u8 path_bytes;
	char path[SOCKET_PATH_BYTES_MAX]; /* of AF_UNIX, as in `sun_path` */
};

/* An address of this machine. */
struct own_address {
	__u32 network; /* inode number of the namespace */
	__u32 address[4]; /* of IPv6, or of IPv4 in its form (::ffff:a.b.c.d); network order */
};

/* What is shared by all. */
struct io_config {
	__u64 generation; /* changes whenever a process may have got a run more */
	/* The same instant by two clocks. */
	__u64 jiffies;
	__u64 boot_ns;
	/* Reading a large map takes long, if it is empty too: whether all are, and whether something was
	 * put into `io_classes` since. */
	__u64 clean;
	__u64 has_classes;
	/* Counts what may have moved or removed a folder: any may have another path then. */
	__u64 moves;
};

/* The part of a run that concerns files. The index is its slot. */
struct io_run {
	__u64 id; /* 0: this run asks for no files */
	__u64 epoch;
	__u64 rows; /* of this epoch */
	__u64 rows_max; /* what is beyond is counted below */
	__u64 flags;
	__u64 folders_lost;
	__u64 compat_calls; /* of 32 bit programs: not seen */
	__u64 libaio_calls; /* io_submit: not seen */
	/* Of what found no place in the table. */
	__u64 opens;
	__u64 closes;
	__u64 seeks;
	__u64 reads;
	__u64 writes;
	__u64 bytes_read;
	__u64 bytes_written;
	__u64 files; /* rows that would have been */
	__u64 pages_in;
	__u64 pages_dirtied;
	__u64 pages_mapped_in;
	__u64 pages_mapped_dirtied;
	__u64 names_lost; /* changes of names that could not be told */
	__u64 executions; /* of what found no place in the table */
	__u64 folders_kept; /* put into `io_kept` */
	__u64 owner; /* the user whose programs alone are counted, + 1; 0: all */
};

#define IO_RUN_TIMES 1u
/* A process that was added by hand counts from its exec on: what it is before is not the task. */
#define IO_RUN_FROM_EXEC 2u
/* Set when a program of another user than the owner was left out. */
#define IO_RUN_FOREIGN 4u

/* The path of a folder. */
struct event_folder {
	__u64 id; /* 0: no folder, the table fills */
	__u32 bytes; /* in text */
	__u32 cut; /* components are missing in front */
	/* The last component first, a NUL behind each. */
	char text[FOLDER_BYTES_MAX + COMPONENT_BYTES_MAX];
};

/* The start of an event_folder that holds its path whole. */
struct kept_folder {
	__u8 event[FOLDER_KEPT_BYTES];
};

#define CALL_PATH_BYTES_MAX 4096
/* No folder has this id. */
#define EVENT_NAME (~0ull)

enum name_change {
	NAME_REMOVED = 1,
	NAME_FOLDER_REMOVED,
	NAME_RENAMED,
	NAME_EXCHANGED,
	NAME_TRUNCATED,
};

/* What a call did to a name, or to two. */
struct event_name {
	__u64 id; /* EVENT_NAME */
	__u64 folder; /* from which the path leads, told by an event_folder; or the root */
	__u64 to_folder;
	__u64 at_ns; /* CLOCK_BOOTTIME */
	__u32 tgid;
	__u32 change;
	__u32 bytes; /* of the path, its NUL included */
	__u32 to_bytes; /* of the new path; 0: there is none */
	char text[2 * CALL_PATH_BYTES_MAX];
};

#endif
