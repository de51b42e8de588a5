/* many N HOLD_MS [MIB]: N processes (this one included) alive at one instant for at least HOLD_MS;
 * then each of the others fills MIB MiB and holds them as long.
 * Truth: N processes in all and at once, (N - 1) * MIB MiB of anonymous memory. */
#include "truth.h"

int main(int argc, char **argv) {
    long n = number(argc, argv, 1), hold = number(argc, argv, 2);
    long mib = argc > 3 ? number(argc, argv, 3) : 0;
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    int end[2];
    char c;
    if (pipe(end) != 0)
        die("pipe");
    for (long i = 1; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            close(end[1]);
            if (read(end[0], &c, 1) != 0)
                _exit(1);
            if (mib > 0) {
                filled(mib, MAP_PRIVATE);
                nanosleep(&t, NULL);
            }
            _exit(0);
        }
    }
    nanosleep(&t, NULL);
    close(end[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
