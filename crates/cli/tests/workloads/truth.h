/* What every workload needs: dying loudly, its own counters, spinning for an exact CPU time. */
#ifndef TRUTH_H
#define TRUTH_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit status of a workload that cannot be done here: the test skips with the line printed. */
#define SKIP 77

static inline void die(const char *what) {
    fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static inline void skip(const char *why) {
    printf("skip %s: %s\n", why, strerror(errno));
    fflush(stdout);
    _exit(SKIP);
}

static inline const char *word(int argc, char **argv, int i) {
    if (i >= argc) {
        fprintf(stderr, "workload: argument %d missing\n", i);
        _exit(71);
    }
    return argv[i];
}

static inline long number(int argc, char **argv, int i) {
    return strtol(word(argc, argv, i), NULL, 10);
}

static inline int64_t cpu_ns(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        die("clock_gettime");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Spins until this process has used `ms` milliseconds of CPU time in all. */
static inline void burn_ms(long ms) {
    while (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < ms * 1000000)
        for (volatile int i = 0; i < 2000; i++)
            ;
}

static inline long rusage_us(int who) {
    struct rusage r;
    if (getrusage(who, &r) != 0)
        die("getrusage");
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000L + r.ru_utime.tv_usec +
           r.ru_stime.tv_usec;
}

/* `cpu_us N`: what the kernel says that this process and its waited-for children used. */
static inline void print_cpu(void) {
    printf("cpu_us %ld\n", rusage_us(RUSAGE_SELF) + rusage_us(RUSAGE_CHILDREN));
    fflush(stdout);
}

/* A new private mapping of `mib` MiB in 4 KiB pages, every page written. */
static inline char *filled(long mib, int flags) {
    size_t size = (size_t)mib << 20;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        die("mmap");
    madvise(at, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        at[i] = 1;
    return at;
}

/* Prints what /proc/self/io will say at the end of this process, this very reading and printing
 * counted; nothing may be read or written by the process after it. Lines: NAME VALUE. */
static inline void print_io(void) {
    char text[1024], out[1024];
    unsigned long long v[6] = {0};
    int fd = open("/proc/self/io", O_RDONLY);
    if (fd < 0)
        die("/proc/self/io");
    ssize_t got = read(fd, text, sizeof text - 1);
    if (got <= 0)
        die("/proc/self/io");
    text[got] = 0;
    if (sscanf(text,
               "rchar: %llu wchar: %llu syscr: %llu syscw: %llu read_bytes: %llu write_bytes: %llu",
               &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) != 6)
        die("/proc/self/io has another form");
    int length = 0;
    for (int pass = 0; pass < 2; pass++)
        length = snprintf(out, sizeof out,
                          "rchar %020llu\nwchar %020llu\nsyscr %020llu\nsyscw %020llu\n"
                          "read_bytes %020llu\nwrite_bytes %020llu\n",
                          v[0] + (unsigned long long)got, v[1] + (unsigned long long)length,
                          v[2] + 1, v[3] + 1, v[4], v[5]);
    if (write(1, out, (size_t)length) != length)
        die("write");
}
#endif
