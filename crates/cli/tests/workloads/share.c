/* share MIB N shared|cow HOLD_MS: N processes (this one included) have the same MIB MiB resident
 * at one instant, for at least HOLD_MS: a shared anonymous mapping, or private pages that the
 * children inherit by fork and only read.
 * Truth: MIB MiB must be provided; the resident sets sum up to N x MIB MiB; N processes. */
#include "truth.h"

int main(int argc, char **argv) {
    long mib = number(argc, argv, 1), n = number(argc, argv, 2), hold = number(argc, argv, 4);
    int shared = strcmp(word(argc, argv, 3), "shared") == 0;
    int ready[2], end[2];
    if (pipe(ready) != 0 || pipe(end) != 0)
        die("pipe");
    char *at = filled(mib, shared ? MAP_SHARED : MAP_PRIVATE);
    for (long i = 1; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            char c = 0;
            close(end[1]);
            for (size_t j = 0; j < (size_t)mib << 20; j += 4096)
                c ^= *(volatile char *)(at + j);
            if (write(ready[1], &c, 1) != 1 || read(end[0], &c, 1) != 0)
                _exit(1);
            _exit(0);
        }
    }
    for (long i = 1; i < n; i++) {
        char c;
        if (read(ready[0], &c, 1) != 1)
            die("read");
    }
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    nanosleep(&t, NULL);
    close(end[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
