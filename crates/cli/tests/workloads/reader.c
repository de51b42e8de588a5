/* reader FILE BLOCK: reads FILE to its end in calls of BLOCK bytes, the call that meets the end
 * included, then says what /proc/self/io holds at its end.
 * Truth: the lines of print_io; `calls N`. */
#include "truth.h"

int main(int argc, char **argv) {
    size_t block = (size_t)number(argc, argv, 2);
    char *buffer = malloc(block);
    int fd = open(word(argc, argv, 1), O_RDONLY);
    if (fd < 0 || buffer == NULL)
        die(argv[1]);
    ssize_t got;
    while ((got = read(fd, buffer, block)) > 0)
        ;
    if (got < 0)
        die("read");
    print_io();
    _exit(0);
}
