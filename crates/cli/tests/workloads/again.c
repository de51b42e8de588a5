/* again DIR PART: what comes after another of its kind, and may lie in the same memory, in DIR.
 * Truth: by construction, see the part. */
#include "truth.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

static void check(const char *what, int result) {
    if (result != 0)
        die(what);
}

static void put(int fd, const char *bytes, size_t count) {
    if (write(fd, bytes, count) != (ssize_t)count)
        die("write");
}

static void make(const char *path, const char *bytes) {
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    if (fd < 0)
        die(path);
    put(fd, bytes, strlen(bytes));
    close(fd);
}

static void use(const char *path) {
    char bytes[16];
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, bytes, sizeof bytes) < 0)
        die(path);
    close(fd);
}

/* 30 sockets one after another, each sends 10 bytes to a port of its own. */
static void datagrams(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < 30; i++) {
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        to.sin_port = htons(40000 + i);
        if (fd < 0)
            die("socket");
        check("connect", connect(fd, (struct sockaddr *)&to, sizeof to));
        /* Nobody listens: what the last one sent may come back as an error, but not to this one. */
        put(fd, "ten bytes.", 10);
        close(fd);
    }
}

/* 30 pipes one after another, 10 bytes through each. */
static void pipes(void) {
    char bytes[16];
    for (int i = 0; i < 30; i++) {
        int fds[2];
        check("pipe", pipe(fds));
        put(fds[1], "ten bytes.", 10);
        if (read(fds[0], bytes, sizeof bytes) != 10)
            die("read");
        close(fds[0]);
        close(fds[1]);
    }
}

/* 5 reads of an event counter, 3 of a timer, both open at once; a process as a descriptor, closed;
 * a file without a name, one byte in it. */
static void counters(void) {
    uint64_t count = 1;
    int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {.it_value.tv_nsec = 1, .it_interval.tv_nsec = 1000000};
    if (event < 0 || timer < 0)
        die("eventfd");
    for (int i = 0; i < 5; i++) {
        put(event, (char *)&count, sizeof count);
        if (read(event, &count, sizeof count) != sizeof count)
            die("read");
        count = 1;
    }
    check("timerfd_settime", timerfd_settime(timer, 0, &soon, NULL));
    for (int i = 0; i < 3; i++)
        if (read(timer, &count, sizeof count) != sizeof count)
            die("read");
    int process = syscall(SYS_pidfd_open, getpid(), 0);
    if (process < 0)
        die("pidfd_open");
    close(process);
    int unnamed = open(".", O_TMPFILE | O_RDWR, 0600);
    if (unnamed < 0 && errno != EOPNOTSUPP)
        die("O_TMPFILE");
    if (unnamed < 0) {
        printf("no O_TMPFILE\n");
        return;
    }
    put(unnamed, "x", 1);
    close(unnamed);
}

/* stage/deep/a is written, stage becomes final, final/deep/a is read, final/deep/b is written. */
static void moved(void) {
    check("mkdir", mkdir("stage", 0755));
    check("mkdir", mkdir("stage/deep", 0755));
    make("stage/deep/a", "ten bytes.");
    check("rename", rename("stage", "final"));
    use("final/deep/a");
    make("final/deep/b", "ten bytes.");
}

/* 20 times a folder of its own, in it one called tmp, in that a file called out; all removed. */
static void folders(void) {
    char path[64];
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "job%d", i);
        check("mkdir", mkdir(path, 0755));
        snprintf(path, sizeof path, "job%d/tmp", i);
        check("mkdir", mkdir(path, 0755));
        snprintf(path, sizeof path, "job%d/tmp/out", i);
        make(path, "ten bytes.");
        check("unlink", unlink(path));
        snprintf(path, sizeof path, "job%d/tmp", i);
        check("rmdir", rmdir(path));
        snprintf(path, sizeof path, "job%d", i);
        check("rmdir", rmdir(path));
    }
}

/* One file with the same name in two folders: written as one/name, read as two/name twice. */
static void links(void) {
    check("mkdir", mkdir("one", 0755));
    check("mkdir", mkdir("two", 0755));
    make("one/name", "ten bytes.");
    check("link", link("one/name", "two/name"));
    use("two/name");
    use("two/name");
}

/* 5 bytes to the standard output, whose file another program opened. */
static void inherited(void) {
    put(1, "five.", 5);
}

int main(int argc, char **argv) {
    const char *part = word(argc, argv, 2);
    check("chdir", chdir(word(argc, argv, 1)));
    if (strcmp(part, "datagrams") == 0)
        datagrams();
    else if (strcmp(part, "pipes") == 0)
        pipes();
    else if (strcmp(part, "counters") == 0)
        counters();
    else if (strcmp(part, "moved") == 0)
        moved();
    else if (strcmp(part, "folders") == 0)
        folders();
    else if (strcmp(part, "links") == 0)
        links();
    else if (strcmp(part, "inherited") == 0)
        inherited();
    else
        die(part);
    return 0;
}
