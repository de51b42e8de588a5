/* meter FILE SECONDS COMMAND [ARG...]: runs COMMAND, waits for it and for everything that it leaves
 * behind (child subreaper), and writes to FILE: wall ns until COMMAND ended, CPU us of all of them,
 * largest resident set of one in KiB. Exits as COMMAND did; with 124 if that took longer than
 * SECONDS: it gets SIGTERM then, and SIGKILL five seconds later. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile pid_t main_pid;
static volatile sig_atomic_t late;

static void on_alarm(int signal) {
    kill(main_pid, late ? SIGKILL : SIGTERM);
    late = 1;
    alarm(5);
}

int main(int argc, char **argv) {
    if (argc < 4 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 125;
    long long start = now(), end = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    main_pid = pid;
    signal(SIGALRM, on_alarm);
    alarm(atoi(argv[2]));
    int status, code = 1;
    while ((pid = wait(&status)) > 0)
        if (pid == main_pid) {
            alarm(0);
            end = now();
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    struct rusage r;
    getrusage(RUSAGE_CHILDREN, &r);
    long long cpu = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000LL + r.ru_utime.tv_usec +
                    r.ru_stime.tv_usec;
    FILE *out = fopen(argv[1], "w");
    if (out == NULL || fprintf(out, "%lld %lld %ld\n", end - start, cpu, r.ru_maxrss) < 0 ||
        fclose(out) != 0)
        return 125;
    return late ? 124 : code;
}
