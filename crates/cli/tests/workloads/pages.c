/* pages MODE MIB [PATH]: gets MIB MiB of memory by ways in which page faults and pages differ, and
 * ends at once. Truth: the memory that the task held at its peak, shared pages once, beside the
 * programs themselves (some MiB):
 * populate: mapped whole by one call; MIB.
 * huge: in huge pages where the kernel has some; MIB.
 * heir: written, and once more by the parent while a child that has no program of its own lives;
 *   2 MIB.
 * orphan: written by a parent that ends; its child holds that and writes as much; 2 MIB.
 * memfd: written through a descriptor, then mapped and read; MIB.
 * cache: the file PATH of MIB MiB mapped and read; nothing that cannot be had again.
 * copied: the same, written to by a private mapping; MIB.
 * spikes: written and given back ten times, with pauses; MIB.
 * storm: written, and then 40 programs one after another that write a quarter of it each, and are
 *   waited for at once, late, or by whoever adopts them; MIB * 5 / 4. */
#include "truth.h"

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static char *map(size_t size, int protection, int flags, int fd) {
    char *at = mmap(NULL, size, protection, flags, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    return at;
}

static void touch(char *at, size_t size) {
    for (size_t i = 0; i < size; i += 4096)
        at[i]++;
}

static void read_all(const volatile char *at, size_t size) {
    for (size_t i = 0; i < size; i += 4096)
        (void)at[i];
}

static void huge(size_t size) {
    const size_t page = 2 << 20;
    char *at = map(size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    at += (page - (uintptr_t)at % page) % page;
    madvise(at, size, MADV_HUGEPAGE);
    touch(at, size);
}

static void heir(long mib) {
    char *at = filled(mib, MAP_PRIVATE);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        for (;;)
            pause();
    touch(at, (size_t)mib << 20);
    kill(child, SIGKILL);
    if (waitpid(child, NULL, 0) != child)
        die("waitpid");
}

static void orphan(long mib) {
    char *at = filled(mib, MAP_PRIVATE);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child > 0)
        return;
    pause_ms(3);
    filled(mib, MAP_PRIVATE);
    read_all(at, (size_t)mib << 20);
}

static void memfd(size_t size) {
    int fd = memfd_create("pages", 0);
    static char block[1 << 20] = {1};
    if (fd < 0)
        skip("memfd_create");
    for (size_t at = 0; at < size; at += sizeof block)
        if (pwrite(fd, block, sizeof block, (off_t)at) != (ssize_t)sizeof block)
            die("pwrite");
    read_all(map(size, PROT_READ, MAP_SHARED, fd), size);
}

static void file(const char *path, size_t size, int write) {
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die(path);
    char *at = map(size, PROT_READ | write, MAP_PRIVATE, fd);
    if (write)
        touch(at, size);
    else
        read_all(at, size);
}

static void spikes(long mib) {
    for (int i = 0; i < 10; i++) {
        pause_ms(40);
        munmap(filled(mib, MAP_PRIVATE), (size_t)mib << 20);
    }
}

/* One of the storm: a program, or the child of one that does not wait for it. */
static pid_t one(long mib, int orphaned) {
    char amount[32];
    int done[2];
    snprintf(amount, sizeof amount, "%ld", mib);
    if (pipe(done) != 0)
        die("pipe");
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        if (orphaned && fork() != 0)
            _exit(0);
        execl("/proc/self/exe", "pages", "write", amount, (char *)NULL);
        die("exec");
    }
    close(done[1]);
    char c;
    /* Its last process has ended once nobody holds the other end. */
    if (read(done[0], &c, 1) != 0)
        die("read");
    close(done[0]);
    return pid;
}

static void storm(long mib) {
    pid_t late[4] = {0};
    filled(mib, MAP_PRIVATE);
    for (int i = 0; i < 40; i++) {
        late[i % 4] = one(mib / 4, i % 5 == 0);
        for (int j = 0; j < 4 && (i % 8 < 4 || i % 4 == 3); j++)
            if (late[j] > 0 && waitpid(late[j], NULL, 0) == late[j])
                late[j] = 0;
    }
}

int main(int argc, char **argv) {
    const char *mode = word(argc, argv, 1);
    long mib = number(argc, argv, 2);
    size_t size = (size_t)mib << 20;
    if (strcmp(mode, "populate") == 0)
        map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
    else if (strcmp(mode, "huge") == 0)
        huge(size);
    else if (strcmp(mode, "heir") == 0)
        heir(mib);
    else if (strcmp(mode, "orphan") == 0)
        orphan(mib);
    else if (strcmp(mode, "memfd") == 0)
        memfd(size);
    else if (strcmp(mode, "cache") == 0)
        file(word(argc, argv, 3), size, 0);
    else if (strcmp(mode, "copied") == 0)
        file(word(argc, argv, 3), size, PROT_WRITE);
    else if (strcmp(mode, "spikes") == 0)
        spikes(mib);
    else if (strcmp(mode, "storm") == 0)
        storm(mib);
    else if (strcmp(mode, "write") == 0)
        filled(mib, MAP_PRIVATE);
    else
        die("no such mode");
    _exit(0);
}
