/* swapped MIB HOLD_MS [CHILDREN]: touches MIB MiB of anonymous memory, has all of it swapped out,
 * makes CHILDREN children that have the same pages in swap, and waits for HOLD_MS. Skips where the
 * kernel does not swap them out.
 * Truth: MIB MiB are in swap, from `began_ns` after its start at the earliest until it ends; so
 * many are told of each child, too. */
#include "truth.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

/* How many pages from `at` on are in swap, as /proc/self/pagemap tells each of them. */
static size_t pages_in_swap(const char *at, size_t pages) {
    enum { BATCH = 512 };
    uint64_t entries[BATCH];
    size_t swapped = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY);
    if (fd < 0)
        die("/proc/self/pagemap");
    for (size_t done = 0; done < pages; done += BATCH) {
        off_t from = (off_t)(((uintptr_t)at / 4096 + done) * sizeof entries[0]);
        if (pread(fd, entries, sizeof entries, from) != (ssize_t)sizeof entries)
            die("read of pagemap");
        for (size_t i = 0; i < BATCH && done + i < pages; i++)
            swapped += entries[i] >> 62 & 1;
    }
    close(fd);
    return swapped;
}

int main(int argc, char **argv) {
    int64_t start = cpu_ns(CLOCK_MONOTONIC);
    long mib = number(argc, argv, 1), hold = number(argc, argv, 2);
    long children = argc > 3 ? number(argc, argv, 3) : 0;
    size_t pages = (size_t)mib << 8;
    char *at = filled(mib, MAP_PRIVATE);
    printf("began_ns %lld\n", (long long)(cpu_ns(CLOCK_MONOTONIC) - start));
    fflush(stdout);
    /* What another CPU holds back at first is out in a later round. */
    for (int round = 0; round < 50 && pages_in_swap(at, pages) < pages; round++)
        if (madvise(at, pages * 4096, MADV_PAGEOUT) != 0)
            skip("MADV_PAGEOUT");
    if (pages_in_swap(at, pages) < pages - pages / 200)
        skip("not all was swapped out");
    for (long i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0)
            break;
    }
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    nanosleep(&t, NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
