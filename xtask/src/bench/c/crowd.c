/* crowd N BUSY: N processes that sleep, but every BUSY-th of them works a little twice a second
 * (0: none). Writes a line when all are there; they end when this one does. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void work(void) {
    static volatile unsigned sum;
    struct timespec pause = {0, 500000000};
    for (;;) {
        for (unsigned i = 0; i < 20000; i++)
            sum += i;
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    long n = atol(argv[1]), busy = atol(argv[2]);
    pid_t parent = getpid();
    /* Nobody waits for it where whoever measures is ended. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() == 1)
        return 1;
    for (long i = 1; i <= n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0) {
            if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
                _exit(1);
            if (busy > 0 && i % busy == 0)
                work();
            for (;;)
                pause();
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
