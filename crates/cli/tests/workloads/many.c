/* many N HOLD_MS: N processes (this one included) alive at one instant for at least HOLD_MS.
 * Truth: N processes in all and at once. */
#include "truth.h"

int main(int argc, char **argv) {
    long n = number(argc, argv, 1), hold = number(argc, argv, 2);
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
            _exit(read(end[0], &c, 1) == 0 ? 0 : 1);
        }
    }
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    nanosleep(&t, NULL);
    close(end[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
