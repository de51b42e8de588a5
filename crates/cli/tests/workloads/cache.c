/* cache DIR PART: one part of what a program does to the page cache, in DIR; skips where the file
 * system does not let go of pages. Truth: by construction, see the part. Prints the lines of
 * print_io. */
#include "truth.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>

#define SIZE ((3 << 20) + 100)

static char block[1 << 16];

static int make(const char *name, int flags) {
    int fd = open(name, flags, 0644);
    if (fd < 0)
        die(name);
    return fd;
}

static void fill(const char *name, long bytes) {
    int fd = make(name, O_WRONLY | O_CREAT | O_TRUNC);
    while (bytes > 0) {
        long part = bytes < (long)sizeof block ? bytes : (long)sizeof block;
        if (write(fd, block, part) != part)
            die("write");
        bytes -= part;
    }
    if (fsync(fd) != 0)
        die("fsync");
    close(fd);
}

static char *map(int fd, long size, int prot) {
    char *at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    return at;
}

/* Opens a file of which no page is in the cache. */
static int cold(const char *name, int flags) {
    int fd = make(name, flags);
    unsigned char in[SIZE / 4096 + 1];
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *at = map(fd, SIZE, PROT_READ);
    if (mincore(at, SIZE, in) != 0)
        die("mincore");
    munmap(at, SIZE);
    for (size_t i = 0; i < sizeof in; i++)
        if (in[i] & 1) {
            errno = 0;
            skip("the page cache keeps the file");
        }
    return fd;
}

static void read_all(int fd) {
    while (read(fd, block, sizeof block) > 0)
        ;
}

static void touch(char *at, long size) {
    char sum = 0;
    for (long i = 0; i < size; i += 4096)
        sum ^= *(volatile char *)(at + i);
    if (sum == 1)
        die("the file is not zero");
}

static ino_t store_and_close(const char *name, long size) {
    int fd = make(name, O_RDWR | O_CREAT);
    struct stat status;
    if (fstat(fd, &status) != 0 || ftruncate(fd, size) != 0)
        die(name);
    char *at = map(fd, size, PROT_READ | PROT_WRITE);
    for (long i = 0; i < size; i += 4096)
        *(volatile char *)(at + i) = 1;
    munmap(at, size);
    close(fd);
    return status.st_ino;
}

/* In a mount namespace of its own, over/a: copied up as it is opened, let go of, and each page
 * touched through a mapping. */
static void overlay(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        skip("mounts need root");
    if (mkdir("low", 0755) || mkdir("up", 0755) || mkdir("work", 0755) || mkdir("over", 0755) ||
        rename("a", "low/a"))
        die("mkdir");
    if (mount("overlay", "over", "overlay", 0, "lowerdir=low,upperdir=up,workdir=work") != 0)
        skip("overlayfs");
    int fd = make("over/a", O_RDWR);
    if (fsync(fd) != 0)
        die("fsync");
    close(fd);
    char *at = map(cold("over/a", O_RDWR), SIZE, PROT_READ | PROT_WRITE);
    madvise(at, SIZE, MADV_RANDOM);
    touch(at, SIZE);
    *(volatile char *)at = 1;
}

int main(int argc, char **argv) {
    const char *part = word(argc, argv, 2);
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    umask(022);
    if (strcmp(part, "make") == 0) {
        /* What the others find: apart, so that they make nothing dirty. */
        fill("a", SIZE);
        fill("b", 1 << 20);
        return 0;
    } else if (strcmp(part, "read") == 0) {
        /* a: read cold, and once more. */
        int fd = cold("a", O_RDONLY);
        read_all(fd);
        lseek(fd, 0, SEEK_SET);
        read_all(fd);
    } else if (strcmp(part, "map") == 0) {
        /* a: each page touched through a mapping, the second half by a child. */
        char *at = map(cold("a", O_RDONLY), SIZE, PROT_READ);
        madvise(at, SIZE, MADV_RANDOM);
        touch(at, 2 << 20);
        pid_t child = fork();
        if (child == 0) {
            touch(at + (2 << 20), SIZE - (2 << 20));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else if (strcmp(part, "write") == 0) {
        /* c: 1 MiB written four times over. */
        int fd = make("c", O_WRONLY | O_CREAT);
        for (int pass = 0; pass < 4; pass++)
            for (int i = 0; i < 16; i++)
                if (pwrite(fd, block, sizeof block, (long)i * sizeof block) != sizeof block)
                    die("pwrite");
        close(fd);
    } else if (strcmp(part, "store") == 0) {
        /* b: 1 MiB stored to through a mapping, each page twice. */
        char *at = map(make("b", O_RDWR), 1 << 20, PROT_READ | PROT_WRITE);
        for (int pass = 0; pass < 2; pass++)
            for (long i = 0; i < 1 << 20; i += 4096)
                *(volatile char *)(at + i) = (char)pass;
    } else if (strcmp(part, "send") == 0) {
        /* a: sent cold to d. */
        int from = cold("a", O_RDONLY), to = make("d", O_WRONLY | O_CREAT);
        for (long left = SIZE; left > 0;) {
            long sent = sendfile(to, from, NULL, left);
            if (sent <= 0)
                die("sendfile");
            left -= sent;
        }
    } else if (strcmp(part, "overlay") == 0) {
        overlay();
    } else if (strcmp(part, "reused") == 0) {
        /* small: one page stored to, removed; large: 1 MiB stored to, with the same number. */
        ino_t number = store_and_close("small", 1);
        if (unlink("small") != 0)
            die("unlink");
        if (store_and_close("large", 1 << 20) != number) {
            errno = 0;
            skip("the file system gives no number twice");
        }
    } else {
        die("no such part");
    }
    print_io();
    return 0;
}
