/* namesake task FILE N SHORT: N children that wait, their ids into FILE; at the end of stdin SHORT
   children that end at once, then the end of all, then "over", then it waits for its own end.
   namesake strangers PID...: a child of each id, "made N"; at the end of stdin "alive N" */
#include "truth.h"
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define MOST 1000

static void task(int argc, char **argv) {
    FILE *file = fopen(word(argc, argv, 2), "w");
    long n = number(argc, argv, 3), some = number(argc, argv, 4);
    int hold[2];
    char byte;
    if (file == NULL || pipe(hold) != 0)
        die("open");
    fprintf(file, "%d\n", getpid());
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            close(hold[1]);
            _exit(read(hold[0], &byte, 1) != 0);
        }
        fprintf(file, "%d\n", pid);
    }
    fprintf(file, "ready\n");
    fclose(file);
    while (read(0, &byte, 1) > 0)
        ;
    for (long i = 0; i < some; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            die("fork");
    }
    close(hold[1]);
    for (long i = 0; i < n; i++)
        wait(NULL);
    printf("over\n");
    fflush(stdout);
    for (;;)
        pause();
}

static void strangers(int argc, char **argv) {
    pid_t made[MOST];
    int count = 0, alive = 0;
    char byte;
    for (int i = 2; i < argc && count < MOST; i++) {
        pid_t pid = (pid_t)number(argc, argv, i);
        struct clone_args how = {.exit_signal = SIGCHLD, .set_tid_size = 1};
        how.set_tid = (uintptr_t)&pid;
        long child = syscall(SYS_clone3, &how, sizeof how);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        if (child < 0 && errno != EEXIST)
            skip("an id for a process cannot be chosen");
        if (child > 0)
            made[count++] = (pid_t)child;
    }
    printf("made %d\n", count);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    for (int i = 0; i < count; i++)
        alive += waitpid(made[i], NULL, WNOHANG) == 0;
    printf("alive %d\n", alive);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (strcmp(word(argc, argv, 1), "task") == 0)
        task(argc, argv);
    else
        strangers(argc, argv);
    return 0;
}
