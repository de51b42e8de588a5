/* numbers DIR PART: calls by their number (`syscall`), as programs make them that do not trust
 * their C library to have a function for each. Truth: by construction, see the part. */
#include "truth.h"
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static char block[1 << 16];

static long done(const char *what, long result, long wanted) {
    if (result != wanted)
        die(what);
    return result;
}

static int make(const char *name) {
    long fd = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die(name);
    return (int)fd;
}

/* a: created and cut; 1 open, 2 closes, 2 reads of 20 + 7, 2 writes of 20 + 7. */
static void vectors(void) {
    struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0644};
    struct iovec pair[2] = {{block, 10}, {block + 100, 10}}, seven = {block, 7};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "a", &how, sizeof how);
    if (fd < 0)
        skip("openat2");
    done("pwritev", syscall(SYS_pwritev, fd, pair, 2, 0, 0), 20);
    done("pwritev2", syscall(SYS_pwritev2, fd, &seven, 1, 0, 0, 0), 7);
    done("preadv", syscall(SYS_preadv, fd, pair, 2, 0, 0), 20);
    done("preadv2", syscall(SYS_preadv2, fd, &seven, 1, 0, 0, 0), 7);
    done("ftruncate", syscall(SYS_ftruncate, fd, 0), 0);
    int second = (int)syscall(SYS_dup, fd);
    close(second);
    close(fd);
}

/* from: 10000 written at once, mapped, 3 reads of 9000; to: 5000 by sendfile, 3000 by
 * copy_file_range, 1000 by splice out of a pipe: 3 writes, 9000 bytes. */
static void copies(void) {
    int ends[2], copy[2], from = make("from"), to = make("to");
    done("write", syscall(SYS_write, from, block, 10000), 10000);
    done("lseek", syscall(SYS_lseek, from, 0, SEEK_SET), 0);
    done("sendfile", syscall(SYS_sendfile, to, from, NULL, 5000), 5000);
    done("copy_file_range", syscall(SYS_copy_file_range, from, NULL, to, NULL, 3000, 0), 3000);
    if (syscall(SYS_pipe2, ends, 0) != 0 || syscall(SYS_pipe2, copy, 0) != 0)
        die("pipe2");
    done("splice", syscall(SYS_splice, from, NULL, ends[1], NULL, 1000, 0), 1000);
    done("tee", syscall(SYS_tee, ends[0], copy[1], 1000, 0), 1000);
    done("splice", syscall(SYS_splice, ends[0], NULL, to, NULL, 1000, 0), 1000);
    if (syscall(SYS_mmap, NULL, 10000, PROT_READ, MAP_SHARED, from, 0) == -1)
        die("mmap");
}

/* One number for a descriptor of b, then of c, then of d: 10, 5 and 3 bytes. */
static void shared(void) {
    int b = make("b"), c = make("c"), d = make("d");
    done("dup3", syscall(SYS_dup3, b, 100, 0), 100);
    done("write", syscall(SYS_write, 100, block, 10), 10);
    done("dup3", syscall(SYS_dup3, c, 100, 0), 100);
    done("write", syscall(SYS_write, 100, block, 5), 5);
    done("close_range", syscall(SYS_close_range, 100, 100, 0), 0);
    done("fcntl", syscall(SYS_fcntl, d, F_DUPFD, 100), 100);
    done("write", syscall(SYS_write, 100, block, 3), 3);
}

/* gone is removed, moved gets the name there, cut is cut by its name, and a folder is removed. */
static void names(void) {
    close(make("gone"));
    close(make("moved"));
    int fd = make("cut");
    done("write", syscall(SYS_write, fd, block, 1000), 1000);
    close(fd);
    done("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, "gone", 0), 0);
    done("renameat2", syscall(SYS_renameat2, AT_FDCWD, "moved", AT_FDCWD, "there", 0), 0);
    done("truncate", syscall(SYS_truncate, "cut", 500), 0);
    done("mkdir", mkdir("folder", 0755), 0);
    done("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, "folder", AT_REMOVEDIR), 0);
}

/* Two sockets: 300 bytes by sendto, 200 by sendmsg, 2 * 50 by sendmmsg; all come by recvfrom,
 * recvmsg and recvmmsg: 4 messages, 600 bytes. */
static void messages(void) {
    int ends[2];
    struct iovec part = {block, 200}, small[2] = {{block, 50}, {block, 50}};
    struct msghdr one = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr many[2] = {{{.msg_iov = &small[0], .msg_iovlen = 1}},
                              {{.msg_iov = &small[1], .msg_iovlen = 1}}};
    if (syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        die("socketpair");
    done("sendto", syscall(SYS_sendto, ends[0], block, 300, 0, NULL, 0), 300);
    done("sendmsg", syscall(SYS_sendmsg, ends[0], &one, 0), 200);
    done("sendmmsg", syscall(SYS_sendmmsg, ends[0], many, 2, 0), 2);
    done("recvfrom", syscall(SYS_recvfrom, ends[1], block, 1000, 0, NULL, NULL), 300);
    done("recvmsg", syscall(SYS_recvmsg, ends[1], &one, 0), 200);
    done("recvmmsg", syscall(SYS_recvmmsg, ends[1], many, 2, 0, NULL), 2);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"vectors", vectors}, {"copies", copies}, {"shared", shared},
    {"names", names}, {"messages", messages},
};

int main(int argc, char **argv) {
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, word(argc, argv, 2)) == 0) {
            parts[i].run();
            return 0;
        }
    die(argv[2]);
}
