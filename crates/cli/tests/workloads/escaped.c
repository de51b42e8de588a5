/* escaped MS BYTES alone|among|orphan: a child that asks not to be traced (by clone) burns MS
 * milliseconds and then reads BYTES bytes of /dev/zero; it fails if it is traced. `among`: besides
 * a child like any other. `orphan`: it is the child of a child that ended before.
 * Truth: 2 processes, 3 but for `alone`, all of them waited for or ended at the end; MS
 * milliseconds and BYTES bytes and what starting them takes. */
#include "truth.h"
#include <sched.h>
#include <sys/syscall.h>

static void escaped(long ms, size_t bytes) {
    static char buffer[65536];
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        die("/proc/self/status");
    text[got] = 0;
    if (strstr(text, "TracerPid:\t0\n") == NULL)
        _exit(1);
    burn_ms(ms);
    fd = open("/dev/zero", O_RDONLY);
    for (size_t left = bytes; left > 0;) {
        got = read(fd, buffer, left < sizeof buffer ? left : sizeof buffer);
        if (got <= 0)
            _exit(2);
        left -= (size_t)got;
    }
    _exit(0);
}

static void see_through(void) {
    int status;
    if (wait(&status) < 0 || status != 0)
        _exit(3);
}

int main(int argc, char **argv) {
    long ms = number(argc, argv, 1), bytes = number(argc, argv, 2);
    const char *how = word(argc, argv, 3);
    int end[2];
    char c;
    if (pipe(end) != 0)
        die("pipe");
    int between = strcmp(how, "orphan") == 0;
    if (!between || fork() == 0) {
        long pid = syscall(SYS_clone, (long)(CLONE_UNTRACED | SIGCHLD), 0, 0, 0, 0);
        if (pid < 0)
            die("clone");
        if (pid == 0)
            escaped(ms, (size_t)bytes);
        if (between)
            _exit(0);
    }
    see_through();
    if (strcmp(how, "among") == 0) {
        if (fork() == 0)
            _exit(0);
        see_through();
    }
    /* The pipe ends when nobody has its other end any more. */
    close(end[1]);
    return read(end[0], &c, 1) == 0 ? 0 : 4;
}
