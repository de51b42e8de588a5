/* setup NICE [rr]: sets itself up in all that /proc/PID/stat and status tell, says the terminal
 * whose session it leads, its one CPU and the bytes of its code, and waits for a signal.
 * Truth: nice value NICE; SCHED_BATCH, or SCHED_RR with priority 3; RSS limited to 64 MiB; signals
 * 10 and 64 ignored, 1 caught, 12 (sent to the process) and 14 (to its thread) blocked and pending;
 * 24 MiB of data. */
#include "truth.h"
#include <link.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define CPUS 8192

static void nothing(int signal) { (void)signal; }

static void set_signals(void) {
    sigset_t blocked;
    unsigned long usual[8] = {0};
    /* Two of them the C library leaves to nobody, as whoever started us had set them. */
    for (int one = 1; one <= 64; one++)
        syscall(SYS_rt_sigaction, one, usual, NULL, 8);
    signal(10, SIG_IGN), signal(64, SIG_IGN), signal(1, nothing);
    sigemptyset(&blocked), sigaddset(&blocked, 12), sigaddset(&blocked, 14);
    if (sigprocmask(SIG_SETMASK, &blocked, NULL) != 0 || kill(getpid(), 12) != 0 ||
        syscall(SYS_tgkill, getpid(), getpid(), 14) != 0)
        die("signals");
}

/* The last CPU that it may use; from now on the only one. */
static int set_cpu(void) {
    size_t size = CPU_ALLOC_SIZE(CPUS);
    cpu_set_t *cpus = CPU_ALLOC(CPUS);
    int last = CPUS - 1;
    CPU_ZERO_S(size, cpus);
    if (sched_getaffinity(0, size, cpus) != 0)
        die("sched_getaffinity");
    while (last > 0 && !CPU_ISSET_S(last, size, cpus))
        last--;
    CPU_ZERO_S(size, cpus);
    CPU_SET_S(last, size, cpus);
    if (sched_setaffinity(0, size, cpus) != 0)
        die("sched_setaffinity");
    return last;
}

/* A terminal of its own: the number that the kernel shows for it. */
static unsigned set_terminal(void) {
    struct stat found;
    int other = posix_openpt(O_RDWR | O_NOCTTY);
    if (other < 0 || grantpt(other) != 0 || unlockpt(other) != 0)
        skip("no terminal");
    int fd = open(ptsname(other), O_RDWR | O_NOCTTY);
    if (fd < 0 || setsid() < 0 || ioctl(fd, TIOCSCTTY, 0) != 0 || fstat(fd, &found) != 0)
        skip("no terminal");
    unsigned number = minor(found.st_rdev);
    return (number & 0xff) | major(found.st_rdev) << 8 | (number & ~0xffu) << 12;
}

/* As its program headers say. */
static unsigned long code(void) {
    const ElfW(Phdr) *part = (const void *)getauxval(AT_PHDR);
    unsigned long page = getpagesize(), start = -1UL, end = 0;
    for (unsigned long left = getauxval(AT_PHNUM); left > 0; left--, part++)
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            start = part->p_vaddr < start ? part->p_vaddr : start;
            end = part->p_vaddr + part->p_filesz > end ? part->p_vaddr + part->p_filesz : end;
        }
    return ((end + page - 1) & -page) - (start & -page);
}

int main(int argc, char **argv) {
    struct sched_param usual = {.sched_priority = 0}, soon = {.sched_priority = 3};
    struct rlimit limit;
    unsigned tty = set_terminal();
    int cpu = set_cpu();
    if (sched_setscheduler(0, argc > 2 ? SCHED_RR : SCHED_BATCH, argc > 2 ? &soon : &usual) != 0)
        skip("no such scheduling");
    if (setpriority(PRIO_PROCESS, 0, number(argc, argv, 1)) != 0)
        skip("no such nice value");
    if (getrlimit(RLIMIT_RSS, &limit) != 0)
        die("getrlimit");
    limit.rlim_cur = 64UL << 20;
    if (setrlimit(RLIMIT_RSS, &limit) != 0)
        die("setrlimit");
    if (mmap(NULL, 24UL << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        die("mmap");
    set_signals();
    printf("tty %u cpu %d code %lu\n", tty, cpu, code());
    fflush(stdout);
    for (;;)
        pause();
}
