/* syscalls: 1000 getppid, 7 renames that fail, 5 sleeps of 20 ms; a second thread: 200 getppid; a
 * child: 300 getppid and one sync of a descriptor that it does not have. syscalls refused: a child
 * asks for 10 getuid that a filter refuses, for 3 calls of number -1, and for one getsid, for which
 * the filter has it killed.
 * Truth: by construction; two processes end by exit_group, of `refused` one. */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void ask(int times) {
    for (int i = 0; i < times; i++)
        syscall(SYS_getppid);
}

static void *second(void *unused) {
    ask(200);
    return unused;
}

static int refused(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            skip("filters of calls");
        for (int i = 0; i < 10; i++)
            if (syscall(SYS_getuid) != -1)
                die("getuid");
        for (int i = 0; i < 3; i++)
            if (syscall(-1) != -1)
                die("-1");
        syscall(SYS_getsid, 0);
        die("getsid");
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
        return SKIP;
    return !WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return refused();
    struct timespec pause = {0, 20000000};
    pthread_t thread;
    ask(1000);
    for (int i = 0; i < 7; i++)
        if (syscall(SYS_renameat2, AT_FDCWD, "/nonexistent", AT_FDCWD, "/there", 0) != -1)
            die("renameat2");
    for (int i = 0; i < 5; i++)
        syscall(SYS_nanosleep, &pause, NULL);
    if (pthread_create(&thread, NULL, second, NULL) != 0)
        die("pthread_create");
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        ask(300);
        if (fsync(-1) != -1)
            die("fsync");
        return 0;
    }
    waitpid(child, NULL, 0);
    return 0;
}
