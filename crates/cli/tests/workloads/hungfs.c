/* hungfs DIR COMMAND...: mounts a file system on DIR that never answers, becomes COMMAND. The
 * process that holds the file system ends with COMMAND. Exits with 99 where that is not allowed. */
#include "truth.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>

int main(int argc, char **argv) {
    char options[99], byte;
    int up[2], server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (argc < 3 || server < 0 || pipe2(up, O_CLOEXEC) != 0)
        return 99;
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", server,
             getuid(), getgid());
    if (mount("hung", argv[1], "fuse", 0, options) != 0)
        return 99;
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        close(up[0]), close(up[1]);
        for (;;)
            pause();
    }
    close(up[1]);
    if (read(up[0], &byte, 1) != 0)
        return 99;
    execvp(argv[2], argv + 2);
    return 99;
}
