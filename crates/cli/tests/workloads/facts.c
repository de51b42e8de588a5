/* facts: prints everything that a program can see of how it was started: ids, groups, session,
 * process group, terminal, signals, capabilities, descriptors, directory, umask, limits, nice
 * value, scheduler, affinity, parent death signal, name spaces, environment. Two starts that mean
 * the same print the same. `facts ids` prints the ids alone. */
#include "truth.h"
#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ioctl.h>

extern char **environ;

static void ids(void) {
    uid_t r, e, s;
    gid_t gr, ge, gs;
    getresuid(&r, &e, &s);
    getresgid(&gr, &ge, &gs);
    printf("uid %u %u %u gid %u %u %u\n", r, e, s, gr, ge, gs);
}

static void status(void) {
    static const char *const wanted[] = {"SigBlk:", "SigIgn:",     "SigCgt:", "CapInh:",
                                         "CapPrm:", "CapEff:",     "CapBnd:", "CapAmb:",
                                         "Groups:", "NoNewPrivs:", "Seccomp:", "TracerPid:",
                                         "SigPnd:", "ShdPnd:",     "Speculation_Store_Bypass:"};
    char line[1024];
    FILE *in = fopen("/proc/self/status", "r");
    if (in == NULL)
        die("/proc/self/status");
    while (fgets(line, sizeof line, in) != NULL)
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                fputs(line, stdout);
    fclose(in);
}

static void descriptors(void) {
    struct dirent *entry;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        die("/proc/self/fd");
    int own = dirfd(dir);
    for (int fd = 0; fd < 1024; fd++)
        if (fd != own && fcntl(fd, F_GETFD) >= 0) {
            char path[64], target[4096];
            struct stat st;
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            ssize_t n = readlink(path, target, sizeof target - 1);
            target[n > 0 ? n : 0] = 0;
            int file = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode));
            printf("fd %d %s type %o flags %o close_on_exec %d\n", fd, file ? target : "-",
                   st.st_mode & S_IFMT, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
        }
    while ((entry = readdir(dir)) != NULL)
        ;
    closedir(dir);
}

static void limits(void) {
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
            printf("rlimit %d %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
}

static void kernel_side(void) {
    int death = -1, reaper = -1;
    cpu_set_t cpus;
    char score[32] = "?";
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    FILE *in = fopen("/proc/self/oom_score_adj", "r");
    if (in != NULL && fgets(score, sizeof score, in) == NULL)
        die("oom_score_adj");
    printf("death_signal %d subreaper %d dumpable %d keepcaps %d securebits %d slack %d thp %d\n",
           death, reaper, prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS),
           prctl(PR_GET_SECUREBITS), prctl(PR_GET_TIMERSLACK),
           prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    printf("personality %x policy %d nice %d cpus %d oom_score_adj %s", personality(0xffffffff),
           sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus), score);
}

static void spaces(void) {
    static const char *const names[] = {"mnt", "pid", "net", "user", "ipc", "uts", "cgroup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64], target[128];
        snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        printf("namespace %s %s\n", names[i], target);
    }
}

int main(int argc, char **argv) {
    ids();
    if (argc > 1)
        return 0;
    mode_t mask = umask(0);
    char cwd[4096];
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY);
    printf("pgrp %d sid %d leader %d\n", getpgrp(), getsid(0), getsid(0) == getpid());
    printf("tty %d foreground %d\n", tty >= 0, tty >= 0 && tcgetpgrp(tty) == getpgrp());
    if (tty >= 0)
        close(tty);
    printf("cwd %s umask %o\n", getcwd(cwd, sizeof cwd) ? cwd : strerror(errno), mask);
    printf("argv0 %s argc %d\n", argv[0], argc);
    status();
    descriptors();
    limits();
    kernel_side();
    spaces();
    for (char **e = environ; *e != NULL; e++)
        printf("env %s\n", *e);
    return 0;
}
