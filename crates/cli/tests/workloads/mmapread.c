/* mmapread FILE: drops FILE from the page cache, maps it and touches every page: no read call.
 * Truth: the lines of print_io (read_bytes = what storage gave), `evicted N` pages before it. */
#include "truth.h"

int main(int argc, char **argv) {
    int fd = open(word(argc, argv, 1), O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        die(argv[1]);
    size_t size = (size_t)st.st_size;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    unsigned char *in = calloc(size / 4096 + 1, 1);
    if (mincore(at, size, in) != 0)
        die("mincore");
    for (size_t i = 0; i < size / 4096; i++)
        if (in[i] & 1) {
            errno = 0;
            skip("the page cache keeps the file");
        }
    char c = 0;
    for (size_t i = 0; i < size; i += 4096)
        c ^= *(volatile char *)(at + i);
    print_io();
    _exit(c == 1 ? 0 : 0);
}
