/* storm COUNT PARALLEL PROGRAM [ARG...]: starts PROGRAM COUNT times by vfork, PARALLEL at a
 * time. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    long count = atol(argv[1]), parallel = atol(argv[2]);
    for (long started = 0, running = 0; started < count || running > 0;) {
        while (started < count && running < parallel) {
            pid_t pid = vfork();
            if (pid == 0) {
                execv(argv[3], argv + 3);
                _exit(127);
            }
            if (pid < 0)
                return 1;
            started++, running++;
        }
        wait(NULL);
        running--;
    }
    return 0;
}
