/* spaces MODE MIB [MS]: memory whose process is not who it seems. Truth: MIB MiB at the peak, once,
 * beside the program itself.
 * vfork: written, and then three children, one after another, that have it for MS milliseconds
 *   each before they execute a program.
 * dead: written, and then three children of vfork that end without a program, after MS
 *   milliseconds.
 * sibling: written by a sibling that has it all (CLONE_PARENT and CLONE_VM) for MS milliseconds.
 * heir: as sibling, but who made it ends first.
 * orphans: as clone, but who made them ends at once, by itself.
 * clone: written by four children at once that have it all (CLONE_VM), each for MS milliseconds.
 * headless: written by a thread that lives MS milliseconds longer than the main one.
 * hidden: written by a process whose files in /proc nobody but root may read, and held for MS
 *   milliseconds; before it, as many bytes are written to /dev/null.
 * memfd: written through a descriptor and never mapped, held for MS milliseconds. */
#include "truth.h"
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

static long mib, ms;
static char *memory;

static void pause_ms(void) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0)
        ;
}

static void after_vfork(int programs) {
    filled(mib, MAP_PRIVATE);
    for (int i = 0; i < 3; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            pause_ms();
            if (programs)
                execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            die("vfork");
    }
}

static int touch(void *unused) {
    (void)unused;
    for (size_t i = 0; i < (size_t)mib << 20; i += 4096)
        ((volatile char *)memory)[i]++;
    pause_ms();
    _exit(0);
}

static void clones(int count, int flags) {
    static char stacks[4][64 << 10] __attribute__((aligned(16)));
    memory = filled(mib, MAP_PRIVATE);
    for (int i = 0; i < count; i++)
        if (clone(touch, stacks[i] + sizeof stacks[i], flags | CLONE_VM | SIGCHLD, NULL) < 0)
            die("clone");
}

static void cloned(void) {
    clones(4, 0);
    while (wait(NULL) > 0)
        ;
}

static void *alone(void *unused) {
    (void)unused;
    filled(mib, MAP_PRIVATE);
    pause_ms();
    _exit(0);
}

static void headless(void) {
    pthread_t thread;
    if ((errno = pthread_create(&thread, NULL, alone, NULL)) != 0)
        die("pthread_create");
    pthread_exit(NULL);
}

static void through(int fd) {
    static char block[1 << 20] = {1};
    if (fd < 0)
        skip("open");
    for (long i = 0; i < mib; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            die("write");
}

int main(int argc, char **argv) {
    const char *mode = word(argc, argv, 1);
    mib = number(argc, argv, 2);
    ms = number(argc, argv, 3);
    if (strcmp(mode, "vfork") == 0) {
        after_vfork(1);
    } else if (strcmp(mode, "dead") == 0) {
        after_vfork(0);
    } else if (strcmp(mode, "sibling") == 0) {
        clones(1, CLONE_PARENT);
        ms += ms / 2;
        pause_ms();
    } else if (strcmp(mode, "heir") == 0) {
        clones(1, CLONE_PARENT);
        ms = ms * 2 / 3;
        pause_ms();
    } else if (strcmp(mode, "orphans") == 0) {
        clones(4, 0);
    } else if (strcmp(mode, "clone") == 0) {
        cloned();
    } else if (strcmp(mode, "headless") == 0) {
        headless();
    } else if (strcmp(mode, "hidden") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        through(open("/dev/null", O_WRONLY));
        filled(mib, MAP_PRIVATE);
        pause_ms();
    } else if (strcmp(mode, "memfd") == 0) {
        through(memfd_create("spaces", 0));
        pause_ms();
    } else {
        die("no such mode");
    }
    return 0;
}
