/* direct FILE: reads FILE past the page cache (O_DIRECT) in calls of 1 MiB.
 * Truth: the lines of print_io; every byte came from storage. Skips where O_DIRECT is refused, or
 * accepted without a disk. */
#include "truth.h"
#include <sys/vfs.h>

#define TMPFS 0x01021994
#define NINE_P 0x01021997

int main(int argc, char **argv) {
    int fd = open(word(argc, argv, 1), O_RDONLY | O_DIRECT);
    if (fd < 0)
        skip("O_DIRECT");
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        die("fstatfs");
    errno = ENODEV;
    if (fs.f_type == TMPFS || fs.f_type == NINE_P)
        skip("no disk below the file");
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
