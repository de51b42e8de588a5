/* init PROGRAM...: runs it as the first process of a container might that waits for nobody else;
 * exits with its status. Truth: prints `left NAME` for each process that it was left, dead or
 * alive, and nothing for a program that leaves none. */
#include "truth.h"
#include <sys/prctl.h>

static void print_name(pid_t pid) {
    char path[40], name[64] = "?\n";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(name, sizeof name, file) == NULL)
        die(path);
    fclose(file);
    printf("left %s", name);
}

int main(int argc, char **argv) {
    int status, left;
    word(argc, argv, 1);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        die("prctl");
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        die(argv[1]);
    }
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    for (;;) {
        siginfo_t one = {0};
        if (waitid(P_ALL, 0, &one, WEXITED | WNOWAIT | __WALL) != 0)
            break;
        print_name(one.si_pid);
        if (waitpid(one.si_pid, &left, __WALL) != one.si_pid)
            die("waitpid");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
