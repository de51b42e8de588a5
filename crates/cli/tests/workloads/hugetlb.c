/* hugetlb MIB MS: MIB MiB of the machine's pool of huge pages, held for MS milliseconds.
 * Truth: so much of the pool, and next to nothing beside it. */
#include "truth.h"

int main(int argc, char **argv) {
    size_t size = (size_t)number(argc, argv, 1) << 20;
    long hold = number(argc, argv, 2);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED)
        skip("the pool of huge pages is too small");
    memset(at, 1, size);
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    nanosleep(&t, NULL);
    return 0;
}
