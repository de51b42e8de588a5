/* writer FILE MIB: writes MIB MiB in calls of 64 KiB, then says what /proc/self/io holds.
 * Truth: the lines of print_io; its own memory stays below 1 MiB (static). */
#include "truth.h"

int main(int argc, char **argv) {
    static char block[64 << 10];
    memset(block, 'x', sizeof block);
    int fd = open(word(argc, argv, 1), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die(argv[1]);
    for (long i = number(argc, argv, 2) * 16; i > 0; i--)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            die("write");
    print_io();
    _exit(0);
}
