/* syscalls: 1000 getppid, 7 renames that fail, 5 sleeps of 20 ms; a second thread: 200 getppid; a
 * child: 300 getppid and one sync of a descriptor that it does not have.
 * Truth: by construction; two processes end by exit_group. */
#include "truth.h"
#include <pthread.h>
#include <sys/syscall.h>

static void ask(int times) {
    for (int i = 0; i < times; i++)
        syscall(SYS_getppid);
}

static void *second(void *unused) {
    ask(200);
    return unused;
}

int main(void) {
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
