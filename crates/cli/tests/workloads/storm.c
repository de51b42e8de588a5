/* storm COUNT PARALLEL fork|vfork PROGRAM [ARG...]: starts PROGRAM COUNT times, PARALLEL at a time:
 * the next one starts when one has been waited for.
 * Truth: COUNT + 1 processes, PARALLEL + 1 at one instant, `cpu_us N` (all of them). */
#include "truth.h"

static void start(int by_vfork, char **argv) {
    pid_t pid = by_vfork ? vfork() : fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(72);
    }
}

int main(int argc, char **argv) {
    long count = number(argc, argv, 1), parallel = number(argc, argv, 2), failed = 0;
    int by_vfork = strcmp(word(argc, argv, 3), "vfork") == 0, status;
    word(argc, argv, 4);
    fflush(stdout);
    for (long started = 0, running = 0; started < count || running > 0;) {
        while (started < count && running < parallel) {
            start(by_vfork, argv + 4);
            started++, running++;
        }
        if (wait(&status) < 0)
            die("wait");
        failed += status != 0;
        running--;
    }
    print_cpu();
    return failed > 0;
}
