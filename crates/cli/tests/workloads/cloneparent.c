/* cloneparent N MS: N children made with CLONE_PARENT (siblings of this process: it cannot wait for
 * them), each using MS milliseconds of CPU time; this process ends when they are all done.
 * Truth: N + 1 processes, at least N x MS milliseconds of CPU time. */
#include "truth.h"
#include <sched.h>
#include <sys/syscall.h>

int main(int argc, char **argv) {
    long n = number(argc, argv, 1), ms = number(argc, argv, 2);
    int done[2];
    char c;
    if (pipe(done) != 0)
        die("pipe");
    for (long i = 0; i < n; i++) {
        long pid = syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0, 0, 0, 0);
        if (pid < 0)
            die("clone");
        if (pid == 0) {
            burn_ms(ms);
            _exit(0);
        }
    }
    close(done[1]);
    return read(done[0], &c, 1) == 0 ? 0 : 1;
}
