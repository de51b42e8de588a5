/* direct FILE: reads FILE past the page cache (O_DIRECT) in calls of 1 MiB.
 * Truth: the lines of print_io; every byte came from storage. Skips where O_DIRECT is refused. */
#include "truth.h"

int main(int argc, char **argv) {
    int fd = open(word(argc, argv, 1), O_RDONLY | O_DIRECT);
    if (fd < 0)
        skip("O_DIRECT");
    void *buffer;
    if (posix_memalign(&buffer, 4096, 1 << 20) != 0)
        die("posix_memalign");
    ssize_t got;
    while ((got = read(fd, buffer, 1 << 20)) > 0)
        ;
    if (got < 0)
        skip("O_DIRECT read");
    print_io();
    _exit(0);
}
