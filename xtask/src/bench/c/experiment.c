/* experiment TRUTH cpu ROUNDS [GROUP] | memory BYTES | io FILE BYTES BUFFER direct|cached: does
 * what it is told and leaves in the file TRUTH, as lines NAME NUMBER, what it really used:
 * cpu: ROUNDS rounds of arithmetic. self_ns: its CPU time at the end, without its exit, which it
 *   cannot see. With a control group of v1 (cpuacct) that it may enter, before_ns: what it had used
 *   when it entered; with what the group was charged in the end that is all, the exit too.
 * memory: BYTES of anonymous memory, each page written. memory_bytes: its pages that belong to no
 *   file, resident_bytes: all of them, when most were held (a walk of its page tables).
 * io: FILE written in calls of BUFFER, read again in such calls, and removed. file_bytes: either
 *   way; read_bytes, written_bytes: with what the kernel and the dynamic linker read before main.
 * TRUTH is mapped, so that leaving the truth there is neither a call nor a byte. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TRUTH_SIZE = 4096 };

static char *truth;

static void die(const char *what) {
    fprintf(stderr, "experiment: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static uint64_t number(const char *word) {
    if (word == NULL)
        die("a word is missing");
    return strtoull(word, NULL, 10);
}

static void tell(const char *name, uint64_t value) {
    size_t used = strlen(truth);
    snprintf(truth + used, TRUTH_SIZE - used, "%s %llu\n", name, (unsigned long long)value);
}

static uint64_t cpu_of(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        die("clock_gettime");
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static int group_file(const char *group, const char *name, int flags) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, flags);
    if (fd < 0)
        die(path);
    return fd;
}

/* Goes into the group, and gives back what this process had used before that. */
static int64_t enter(const char *group) {
    int procs = group_file(group, "cgroup.procs", O_WRONLY);
    int usage = group_file(group, "cpuacct.usage", O_RDONLY);
    int64_t before = INT64_MIN;
    if (write(procs, "0", 1) != 1)
        die("cgroup.procs");
    /* Asking for the clock charges the group too. A tick may come in between: the highest is it. */
    for (int i = 0; i < 9; i++) {
        char text[32] = "";
        int64_t now = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
        if (pread(usage, text, sizeof text - 1, 0) <= 0)
            die("cpuacct.usage");
        int64_t difference = now - (int64_t)number(text);
        before = difference > before ? difference : before;
    }
    return before;
}

static void cpu(uint64_t rounds, const char *group) {
    if (group != NULL)
        tell("before_ns", enter(group));
    volatile uint64_t result;
    uint64_t x = 88172645463325252ULL;
    for (; rounds > 0; rounds--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    result = x;
    (void)result;
    tell("self_ns", cpu_of(CLOCK_PROCESS_CPUTIME_ID));
    _exit(0);
}

/* Reads all of a file of /proc; gives back the bytes that came through calls. */
static size_t read_proc(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die(path);
    ssize_t got;
    size_t used = 0;
    while ((got = read(fd, text + used, size - 1 - used)) > 0)
        used += got;
    if (got < 0)
        die(path);
    close(fd);
    text[used] = '\0';
    return used;
}

static uint64_t field(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (at == NULL)
        die(name);
    return strtoull(at + strlen(name), NULL, 10);
}

static void memory(uint64_t bytes) {
    static char text[4096];
    /* Once before: the pages of the program that this needs are there at the peak. */
    read_proc("/proc/self/smaps_rollup", text, sizeof text);
    tell("memory_bytes", field(text, "Anonymous:") * 1024);
    truth[0] = '\0';
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        die("mmap");
    for (uint64_t i = 0; i < bytes; i += 4096)
        at[i] = 1;
    read_proc("/proc/self/smaps_rollup", text, sizeof text);
    uint64_t anonymous = field(text, "Anonymous:") * 1024;
    if (anonymous < bytes)
        die("less memory than was written");
    tell("memory_bytes", anonymous);
    tell("resident_bytes", field(text, "Rss:") * 1024);
    _exit(0);
}

static void move_all(int fd, uint64_t bytes, size_t buffer, char *block, int writing) {
    for (uint64_t moved = 0; moved < bytes;) {
        size_t next = bytes - moved < buffer ? bytes - moved : buffer;
        ssize_t got = writing ? write(fd, block, next) : read(fd, block, next);
        if (got <= 0)
            die(writing ? "write" : "read");
        moved += got;
    }
    if (close(fd) != 0)
        die("close");
}

static void io(const char *file, uint64_t bytes, size_t buffer, int direct) {
    static char text[4096];
    /* What the kernel read to start the program, and the dynamic linker, is in there. */
    size_t seen = read_proc("/proc/self/io", text, sizeof text);
    char *block;
    if (posix_memalign((void **)&block, 4096, buffer) != 0)
        die("posix_memalign");
    memset(block, 'x', buffer);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | direct, 0644);
    if (fd < 0)
        die(file);
    move_all(fd, bytes, buffer, block, 1);
    fd = open(file, O_RDONLY | direct);
    if (fd < 0)
        die(file);
    move_all(fd, bytes, buffer, block, 0);
    if (unlink(file) != 0)
        die(file);
    tell("file_bytes", bytes);
    tell("read_bytes", field(text, "rchar:") + seen + bytes);
    tell("written_bytes", field(text, "wchar:") + bytes);
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, TRUTH_SIZE) != 0)
        die(argv[1]);
    truth = mmap(NULL, TRUTH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (truth == MAP_FAILED)
        die("mmap");
    if (strcmp(argv[2], "cpu") == 0)
        cpu(number(argv[3]), argv[4]);
    if (strcmp(argv[2], "memory") == 0)
        memory(number(argv[3]));
    if (strcmp(argv[2], "io") == 0 && argc > 6)
        io(argv[3], number(argv[4]), number(argv[5]), strcmp(argv[6], "direct") ? 0 : O_DIRECT);
    return 2;
}
