/* renames DIR PART: one part of how files get other names while they are used, in DIR, where log
 * holds 1000 bytes. Truth: by construction, see the part. */
#include "truth.h"
#include <stdio.h>

static char block[4096];

static int start(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT | O_APPEND, 0644);
    if (fd < 0)
        die(name);
    return fd;
}

static void put(int fd, size_t bytes) {
    if (write(fd, block, bytes) != (ssize_t)bytes)
        die("write");
}

static void get(int fd, size_t bytes) {
    if (read(fd, block, bytes) != (ssize_t)bytes)
        die("read");
}

static void check(const char *what, int result) {
    if (result != 0)
        die(what);
}

static void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        die("child");
}

/* Three files that are called log one after another, each written to while it has that name and
 * after it: 2000 + 300 + 1, 40 + 4, and 7 bytes. The first one ends as log.2, the second as
 * log.1. */
static void rotated(void) {
    int first = start("log");
    put(first, 2000);
    check("rename", rename("log", "log.1"));
    int second = start("log");
    put(first, 300);
    put(second, 40);
    check("rename", rename("log.1", "log.2"));
    check("rename", rename("log", "log.1"));
    int third = start("log");
    put(second, 4);
    put(third, 7);
    put(first, 1);
    close(second);
    close(third);
    close(first);
}

/* Eight files that are called log one after another, of 100 to 107 bytes but for what was there, of
 * which three are kept: the others are removed, and their numbers may be given to those after
 * them. */
static void dropped(void) {
    char from[16], to[16];
    for (int i = 0; i < 8; i++) {
        int fd = start("log");
        put(fd, 100 + i);
        close(fd);
        if (i == 7)
            break;
        if (i >= 3)
            check("unlink", unlink("log.3"));
        for (int n = i < 3 ? i : 2; n > 0; n--) {
            snprintf(from, sizeof from, "log.%d", n);
            snprintf(to, sizeof to, "log.%d", n + 1);
            check("rename", rename(from, to));
        }
        check("rename", rename("log", "log.1"));
    }
}

/* The same files, but each is closed before a child gives it another name. */
static void closed(void) {
    const size_t sizes[] = {2301, 44, 7};
    for (int i = 0; i < 3; i++) {
        int fd = start("log");
        put(fd, sizes[i]);
        close(fd);
        if (i == 2)
            break;
        pid_t child = fork();
        if (child == 0) {
            if (i == 1)
                check("rename", rename("log.1", "log.2"));
            check("rename", rename("log", "log.1"));
            _exit(0);
        }
        wait_for(child);
    }
}

/* A child renames log to log.1 while its parent has it open, and another child writes 60 bytes by
 * the descriptor that it inherits; neither closes it. Then the parent opens another log. */
static void inherited(void) {
    int first = start("log");
    put(first, 2000);
    pid_t child = fork();
    if (child == 0) {
        check("rename", rename("log", "log.1"));
        _exit(0);
    }
    wait_for(child);
    int second = start("log");
    child = fork();
    if (child == 0) {
        put(first, 60);
        _exit(0);
    }
    wait_for(child);
    put(second, 7);
}

/* log is renamed to log.1 between two writes, then another one is made; neither is closed. */
static void unclosed(void) {
    int first = start("log");
    put(first, 2000);
    check("rename", rename("log", "log.1"));
    put(start("log"), 7);
    put(first, 300);
}

/* log is removed while it is open; another one is made, and closed before the first. */
static void replaced(void) {
    int first = start("log");
    put(first, 500);
    check("unlink", unlink("log"));
    int second = start("log");
    put(second, 40);
    put(first, 3);
    close(second);
    close(first);
}

/* One file is written by a name and gets that of another, which was read, while it is open. */
static void temporary(void) {
    int old = open("log", O_RDONLY);
    get(old, 1000);
    close(old);
    int fd = start("temporary");
    put(fd, 5000);
    check("rename", rename("temporary", "log"));
    put(fd, 5);
    close(fd);
}

/* One name for ten files, each of which gets that of the one before; each at another tick of the
 * kernel, for there may be only two or three numbers for them. */
static void again(void) {
    const struct timespec tick = {.tv_nsec = 12 * 1000 * 1000};
    for (int i = 0; i < 10; i++) {
        nanosleep(&tick, NULL);
        int fd = start("temporary");
        put(fd, 100 + i);
        if (i % 2 == 0)
            close(fd);
        check("rename", rename("temporary", "final"));
        if (i % 2 != 0)
            close(fd);
    }
}

/* log is copied and cut while somebody writes to it. */
static void copied(void) {
    int fd = start("log");
    put(fd, 500);
    int from = open("log", O_RDONLY), to = start("log.1");
    get(from, 1500);
    put(to, 1500);
    close(to);
    check("truncate", truncate("log", 0));
    close(from);
    put(fd, 33);
    close(fd);
}

/* log and other change places while both are open. */
static void exchanged(void) {
    int first = start("log"), second = start("other");
    put(first, 500);
    put(second, 7);
    int result = renameat2(AT_FDCWD, "log", AT_FDCWD, "other", RENAME_EXCHANGE);
    if (result != 0)
        skip("RENAME_EXCHANGE");
    put(first, 1);
    put(second, 2);
    close(first);
    close(second);
}

/* A folder gets another name while a file in it is open; then there is another folder of its name
 * with a file of that name. */
static void folder(void) {
    check("mkdir", mkdir("one", 0755));
    int first = start("one/file");
    put(first, 500);
    check("rename", rename("one", "two"));
    put(first, 60);
    check("mkdir", mkdir("one", 0755));
    int second = start("one/file");
    put(second, 7);
    close(second);
    close(first);
}

/* A child opens log to read, and reads again after its parent wrote 2000 bytes to it and closed it;
 * it never closes it. */
static void unread(void) {
    int go[2], done[2];
    check("pipe", pipe(go));
    check("pipe", pipe(done));
    pid_t child = fork();
    if (child == 0) {
        int early = open("log", O_RDONLY);
        put(done[1], 1);
        get(go[0], 1);
        get(early, 5);
        _exit(0);
    }
    get(done[0], 1);
    const struct timespec tick = {.tv_nsec = 12 * 1000 * 1000};
    nanosleep(&tick, NULL);
    int fd = start("log");
    put(fd, 2000);
    close(fd);
    nanosleep(&tick, NULL);
    put(go[1], 1);
    wait_for(child);
}

/* A descriptor of log that only reads is opened before a child and another name of it write 2000
 * and 70 bytes, and closed after that. */
static void late(void) {
    int early = open("log", O_RDONLY);
    get(early, 10);
    check("link", link("log", "other"));
    pid_t child = fork();
    if (child == 0) {
        int fd = start("log");
        put(fd, 2000);
        close(fd);
        _exit(0);
    }
    wait_for(child);
    int fd = start("other");
    put(fd, 70);
    close(fd);
    get(early, 5);
    close(early);
}

int main(int argc, char **argv) {
    const char *part = word(argc, argv, 2);
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"rotated", rotated},     {"dropped", dropped},
            {"closed", closed},       {"inherited", inherited},
        {"replaced", replaced},   {"temporary", temporary}, {"again", again},
        {"copied", copied},       {"exchanged", exchanged}, {"folder", folder},
        {"late", late},           {"unclosed", unclosed},
        {"unread", unread},
    };
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    umask(022);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(part, parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    die("no such part");
}
