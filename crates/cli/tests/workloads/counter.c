/* counter: counts SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGCONT; prints `got NAME N` at
 * each; ends with status 3 a fifth of a second after a line on stdin or the end of it, printing
 * `total INT TERM HUP QUIT USR1 CONT`. Truth: how often each signal really arrived. */
#include "truth.h"

static volatile sig_atomic_t seen[6];
static const int signals[6] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGCONT};
static const char *const names[6] = {"INT", "TERM", "HUP", "QUIT", "USR1", "CONT"};

static void note(int signal) {
    for (int i = 0; i < 6; i++)
        if (signals[i] == signal) {
            char line[32];
            seen[i]++;
            int n = snprintf(line, sizeof line, "got %s %d\n", names[i], (int)seen[i]);
            if (write(1, line, (size_t)n) != n)
                _exit(1);
        }
}

int main(void) {
    struct sigaction action = {.sa_handler = note};
    struct timespec rest = {0, 200000000};
    char line[64];
    for (int i = 0; i < 6; i++)
        sigaction(signals[i], &action, NULL);
    if (write(1, "ready\n", 6) != 6)
        return 1;
    while (read(0, line, sizeof line) < 0)
        if (errno != EINTR)
            break;
    while (nanosleep(&rest, &rest) != 0)
        ;
    printf("total %d %d %d %d %d %d\n", (int)seen[0], (int)seen[1], (int)seen[2], (int)seen[3],
           (int)seen[4], (int)seen[5]);
    return 3;
}
