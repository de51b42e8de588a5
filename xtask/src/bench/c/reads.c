/* reads FILE TIMES: reads FILE in calls of 4 KiB, TIMES times over. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char block[4096];
    int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0)
        return 2;
    for (long times = atol(argv[2]); times > 0; times--) {
        lseek(fd, 0, SEEK_SET);
        while (read(fd, block, sizeof block) > 0)
            ;
    }
    return 0;
}
