/* names DIR PART: one part of what a program can do to names, in DIR.
 * Truth: by construction, see the part. */
#include "truth.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static int make(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    if (fd < 0)
        die(name);
    if (write(fd, name, 10) != 10)
        die("write");
    return fd;
}

static void check(const char *what, int result) {
    if (result != 0)
        die(what);
}

static void fails(const char *what, int result) {
    if (result == 0)
        die(what);
}

/* a, b, c, f are made and removed; fifo is removed and was never opened; folder and second are
 * made and removed; kept is there at last, made and removed once before. */
static void removed(int folder) {
    close(make("a-ten-byte"));
    check("unlink", unlink("a-ten-byte"));
    close(make("b-ten-byte"));
    check("unlinkat", unlinkat(folder, "b-ten-byte", 0));
    check("symlink", symlink(".", "link"));
    close(make("c-ten-byte"));
    check("unlink", unlink("link/./c-ten-byte"));
    check("mkfifo", mkfifo("fifo", 0644));
    check("unlink", unlink("fifo"));
    check("mkdir", mkdir("folder", 0755));
    check("rmdir", rmdir("folder"));
    check("mkdir", mkdir("second", 0755));
    check("unlinkat", unlinkat(folder, "second", AT_REMOVEDIR));
    fails("unlink", unlink("never"));
    close(make("kept-ten-b"));
    check("unlink", unlink("kept-ten-b"));
    close(make("kept-ten-b"));
    int fd = make("f-ten-byte");
    check("remove", remove("f-ten-byte"));
    close(fd);
}

static void make_and_remove(const char *who) {
    char name[32];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "%s-%d-ten-byte", who, i);
        close(make(name));
        check("unlink", unlink(name));
    }
}

static void *worker(void *who) {
    make_and_remove(who);
    return NULL;
}

/* 50 files are made and removed in the folder by each of two threads, and by a child in sub, which
 * is its working directory; inner is made in one, which is then called two, and removed there. */
static void crowd(void) {
    pthread_t threads[2];
    char *names[] = {"first", "second"};
    check("mkdir", mkdir("sub", 0755));
    check("mkdir", mkdir("one", 0755));
    close(make("one/inner-ten-byte"));
    int one = open("one", O_RDONLY | O_DIRECTORY);
    check("rename", rename("one", "two"));
    check("unlinkat", unlinkat(one, "inner-ten-byte", 0));
    for (int i = 0; i < 2; i++)
        check("pthread_create", pthread_create(&threads[i], NULL, worker, names[i]));
    pid_t child = fork();
    if (child == 0) {
        check("chdir", chdir("sub"));
        make_and_remove("child");
        _exit(0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    check("waitpid", waitpid(child, NULL, 0) - child);
}

/* A file below 14 folders of 250 letters is cut 3000 times by its name. */
static void lengthy(void) {
    char folder[251] = {0};
    memset(folder, 'x', 250);
    for (int i = 0; i < 14; i++) {
        check("mkdir", mkdir(folder, 0755));
        check("chdir", chdir(folder));
    }
    close(make("cut-ten-byte"));
    for (int i = 0; i < 3000; i++)
        check("truncate", truncate("cut-ten-byte", i));
}

/* first is written, renamed to second and that to sub/third; x and y change places; no is no
 * file. */
static void renamed(int folder) {
    check("mkdir", mkdir("sub", 0755));
    close(make("first-ten-"));
    check("rename", rename("first-ten-", "second"));
    int sub = open("sub", O_RDONLY | O_DIRECTORY);
    check("renameat", renameat(folder, "second", sub, "third"));
    close(make("x-ten-byte"));
    close(make("y-ten-byte"));
    check("renameat2", renameat2(folder, "x-ten-byte", AT_FDCWD, "y-ten-byte", RENAME_EXCHANGE));
    fails("rename", rename("no", "never"));
}

/* p, q: 10 bytes, cut to 3 by path and to 4 by descriptor; r is cut and never opened; s and t are
 * opened once more, t to be truncated. */
static void truncated(void) {
    close(make("p-ten-byte"));
    check("truncate", truncate("p-ten-byte", 3));
    int fd = open("q-ten-byte", O_WRONLY | O_CREAT, 0644);
    if (fd < 0 || write(fd, "0123456789", 10) != 10)
        die("q");
    check("ftruncate", ftruncate(fd, 4));
    close(fd);
    close(make("s-ten-byte"));
    close(open("s-ten-byte", O_WRONLY | O_APPEND));
    close(make("t-ten-byte"));
    close(open("t-ten-byte", O_WRONLY | O_TRUNC));
    check("truncate", truncate("r", 5000));
}

/* inner is renamed to sub/outer from within, and removed so. */
static void within(void) {
    check("mkdir", mkdir("inner", 0755));
    check("mkdir", mkdir("sub", 0755));
    check("chdir", chdir("inner"));
    check("rename", rename("../inner", "../sub/outer"));
    check("rmdir", rmdir("../outer"));
}

/* own-a and own-b are removed and renamed to own-c through what the process has for itself in
 * /proc, and own-d is cut by its descriptor there; then it gives time to look that up, and runs
 * itself by a descriptor. */
static void own(char **argv) {
    char path[64], *next[] = {argv[0], argv[1], "exit", NULL};
    close(make("own-a-ten-"));
    check("unlink", unlink("/proc/self/cwd/own-a-ten-"));
    close(make("own-b-ten-"));
    check("rename", rename("/proc/self/cwd/own-b-ten-", "/proc/thread-self/cwd/own-c"));
    int fd = dup2(make("own-d-ten-"), 40);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    check("truncate", truncate(path, 4));
    sleep(1);
    int self = open("/proc/self/exe", O_RDONLY);
    dup2(self, 3);
    fexecve(3, next, environ);
    die("fexecve");
}

/* A file without a name is written to, gets the name linked, and is written to again; moved is
 * written to before and after it is renamed to there, and never closed. */
static void linked(int folder) {
    char path[64];
    int fd = open(".", O_TMPFILE | O_RDWR, 0644);
    if (fd < 0)
        skip("O_TMPFILE");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, path, 7) != 7)
        die("write");
    check("linkat", linkat(AT_FDCWD, path, folder, "linked", AT_SYMLINK_FOLLOW));
    int other = dup(fd);
    if (write(other, path, 3) != 3)
        die("write");
    close(other);
    close(fd);
    fd = make("moved-ten-byte");
    check("rename", rename("moved-ten-byte", "there"));
    if (write(fd, path, 5) != 5)
        die("write");
}

static sigjmp_buf back;

static void refused(int signal) {
    siglongjmp(back, signal);
}

/* z is made, and removed by the interface of 32-bit programs. */
static void compat(void) {
#if defined(__x86_64__)
    close(make("z-ten-byte"));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT;
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (low == MAP_FAILED)
        die("mmap");
    strcpy(low, "z-ten-byte");
    signal(SIGSEGV, refused);
    errno = ENOSYS;
    if (sigsetjmp(back, 1) != 0)
        skip("no calls of 32-bit programs");
    long result;
    __asm__ volatile("int $0x80" /* unlink */
                     : "=a"(result)
                     : "a"(10L), "b"((uintptr_t)low)
                     : "memory", "r8", "r9", "r10", "r11");
    if (result == -ENOSYS)
        skip("no calls of 32-bit programs");
    check("unlink", (int)result);
#else
    (void)refused;
    errno = ENOSYS;
    skip("no calls of 32-bit programs");
#endif
}

int main(int argc, char **argv) {
    const char *part = word(argc, argv, 2);
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    umask(022);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    if (strcmp(part, "make") == 0)
        close(open("r", O_WRONLY | O_CREAT, 0644));
    else if (strcmp(part, "removed") == 0)
        removed(folder);
    else if (strcmp(part, "renamed") == 0)
        renamed(folder);
    else if (strcmp(part, "truncated") == 0)
        truncated();
    else if (strcmp(part, "within") == 0)
        within();
    else if (strcmp(part, "compat") == 0)
        compat();
    else if (strcmp(part, "crowd") == 0)
        crowd();
    else if (strcmp(part, "own") == 0)
        own(argv);
    else if (strcmp(part, "linked") == 0)
        linked(folder);
    else if (strcmp(part, "exit") == 0)
        return 0;
    else if (strcmp(part, "lengthy") == 0)
        lengthy();
    else
        die("no such part");
    return 0;
}
