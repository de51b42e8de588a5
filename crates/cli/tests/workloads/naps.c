/* naps CHILDREN NAPS OPENS: forks CHILDREN processes, one after another, each of which sleeps NAPS
 * times for a millisecond and opens and closes /dev/null OPENS times. Truth: each nap and each wait
 * for a child is a voluntary switch; ends and the start of the program are about one each. */
#include "truth.h"

static void nap(long naps, long opens) {
    struct timespec millisecond = {0, 1000000};
    for (long i = 0; i < naps; i++)
        if (nanosleep(&millisecond, NULL) != 0)
            die("nanosleep");
    for (long i = 0; i < opens; i++) {
        int fd = open("/dev/null", O_RDONLY);
        if (fd < 0 || close(fd) != 0)
            die("/dev/null");
    }
}

int main(int argc, char **argv) {
    long children = number(argc, argv, 1), naps = number(argc, argv, 2);
    long opens = number(argc, argv, 3);
    for (long i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            nap(naps, opens);
            _exit(0);
        }
        if (waitpid(pid, NULL, 0) != pid)
            die("waitpid");
    }
    return 0;
}
