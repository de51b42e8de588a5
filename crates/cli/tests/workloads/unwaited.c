/* unwaited HOW N MS: N children at once, each using MS milliseconds of CPU time and reading 1 MiB
 * from /dev/zero, for whom nobody waits. Truth: N + 1 processes, N x MS milliseconds, N MiB.
 * nocldwait, handler: SIGCHLD is taken with SA_NOCLDWAIT, by default or by a handler.
 * ignored: SIGCHLD is ignored.
 * namespace: N + 2 processes; they end with the PID namespace that they are in.
 * programs: SIGCHLD is taken with SA_NOCLDWAIT; N children, one after another, execute /bin/true,
 *   and this process lives MS milliseconds more. Truth: N + 1 processes.
 * wait: for comparison, they are waited for.
 * late: they are waited for, a second after they end; this process lives another second. */
#include "truth.h"
#include <sched.h>
#include <sys/syscall.h>

static void handler(int number) {
    (void)number;
}

static void take(void (*how)(int), int flags) {
    struct sigaction action = {.sa_handler = how, .sa_flags = flags};
    if (sigaction(SIGCHLD, &action, NULL) != 0)
        die("sigaction");
}

static void children(long n, long ms, int done) {
    static char block[1 << 16];
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid != 0)
            continue;
        int zero = open("/dev/zero", O_RDONLY);
        for (size_t got = 0; got < 1 << 20; got += sizeof block)
            if (read(zero, block, sizeof block) != (ssize_t)sizeof block)
                die("/dev/zero");
        burn_ms(ms);
        if (done < 0)
            _exit(0);
        if (write(done, "d", 1) != 1)
            die("write");
        for (;;)
            pause();
    }
}

static void in_namespace(long n, long ms) {
    long pid = syscall(SYS_clone, (long)(CLONE_NEWPID | SIGCHLD), 0, 0, 0, 0);
    if (pid < 0 && (errno == EPERM || errno == EINVAL || errno == ENOSPC))
        skip("no PID namespace");
    if (pid < 0)
        die("clone");
    if (pid == 0) {
        int done[2];
        char c;
        if (pipe(done) != 0)
            die("pipe");
        children(n, ms, done[1]);
        for (long i = 0; i < n; i++)
            if (read(done[0], &c, 1) != 1)
                die("read");
        _exit(0);
    }
    if (waitpid((pid_t)pid, NULL, 0) != pid)
        die("waitpid");
}

static void programs(long n, long ms) {
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        waitpid(pid, NULL, 0);
    }
    while (nanosleep(&rest, &rest) != 0)
        ;
}

int main(int argc, char **argv) {
    const char *how = word(argc, argv, 1);
    long n = number(argc, argv, 2), ms = number(argc, argv, 3);
    if (strcmp(how, "namespace") == 0) {
        in_namespace(n, ms);
        return 0;
    }
    if (strcmp(how, "nocldwait") == 0 || strcmp(how, "programs") == 0)
        take(SIG_DFL, SA_NOCLDWAIT);
    else if (strcmp(how, "handler") == 0)
        take(handler, SA_NOCLDWAIT | SA_RESTART);
    else if (strcmp(how, "ignored") == 0)
        take(SIG_IGN, 0);
    if (strcmp(how, "programs") == 0) {
        programs(n, ms);
        return 0;
    }
    children(n, ms, -1);
    int late = strcmp(how, "late") == 0;
    for (int i = 0; late && i < 20; i++)
        usleep(100000);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    for (int i = 0; late && i < 10; i++)
        usleep(100000);
    return 0;
}
