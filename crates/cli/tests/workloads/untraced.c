/* untraced FILE: two children that ask not to be traced, by clone and by clone3, write 100 and 200
 * bytes to FILE.
 * Truth: 3 processes; exits 0 if the children could do it. */
#include "truth.h"
#include <sched.h>
#include <sys/syscall.h>

/* The begin of struct clone_args, as Linux 5.3 has it; it cannot be written. */
static const uint64_t how[8] = {[0] = CLONE_UNTRACED, [4] = SIGCHLD};

static void see_through(long pid, const char *file, size_t bytes) {
    static const char zeros[200];
    int status;

    if (pid == 0) {
        int fd = open(file, O_WRONLY | O_APPEND);
        _exit(fd >= 0 && write(fd, zeros, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    if (pid < 0 && errno == ENOSYS)
        skip("clone3");
    if (pid < 0)
        die("clone");
    if (waitpid((pid_t)pid, &status, 0) < 0 || status != 0)
        die("a child");
}

int main(int argc, char **argv) {
    const char *file = word(argc, argv, 1);

    see_through(syscall(SYS_clone, (long)(CLONE_UNTRACED | SIGCHLD), 0, 0, 0, 0), file, 100);
    see_through(syscall(SYS_clone3, how, sizeof(how)), file, 200);
    return 0;
}
