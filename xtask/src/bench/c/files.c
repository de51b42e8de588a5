/* files FOLDER N TIMES: opens, reads, asks the size of and closes N files FOLDER/0..,
 * TIMES over. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char block[4096];
    struct stat st;
    if (argc < 4 || chdir(argv[1]) != 0)
        return 2;
    for (long times = atol(argv[3]); times > 0; times--)
        for (long i = 0; i < atol(argv[2]); i++) {
            char name[32];
            snprintf(name, sizeof name, "%ld", i);
            int fd = open(name, O_RDONLY);
            if (fd < 0 || read(fd, block, sizeof block) < 0 || fstat(fd, &st) != 0)
                return 1;
            close(fd);
        }
    return 0;
}
