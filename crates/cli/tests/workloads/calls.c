/* calls DIR PART: one part of what a program can do with files, in DIR, each call counted here.
 * Truth: by construction, see the part; skips where this system has no such call. */
#include "truth.h"
#include <dirent.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <spawn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

static char block[1 << 16];

static int make(const char *name, int flags) {
    int fd = open(name, flags, 0644);
    if (fd < 0)
        die(name);
    return fd;
}

static void done(const char *what, long result, long wanted) {
    if (result != wanted)
        die(what);
}

static void fill(const char *name, long bytes) {
    int fd = make(name, O_WRONLY | O_CREAT | O_TRUNC);
    while (bytes > 0) {
        long part = bytes < (long)sizeof block ? bytes : (long)sizeof block;
        done("write", write(fd, block, part), part);
        bytes -= part;
    }
    close(fd);
}

/* a: 11 read of 1000 (one finds the end), 5 pread of 100, 3 readv of 100, 2 preadv of 20,
 * 1 preadv2 of 7: 22 reads, 10000 + 500 + 300 + 40 + 7 bytes; 2 opens, 2 closes, 2 seeks. */
static void reads(void) {
    struct iovec pair[2] = {{block, 50}, {block + 100, 50}};
    struct iovec small[2] = {{block, 10}, {block + 100, 10}};
    struct iovec seven = {block, 7};
    fill("a", 10000);
    int fd = make("a", O_RDONLY);
    for (int i = 0; i < 10; i++)
        done("read", read(fd, block, 1000), 1000);
    done("read", read(fd, block, 1000), 0);
    for (int i = 0; i < 5; i++)
        done("pread", pread(fd, block, 100, i), 100);
    done("lseek", lseek(fd, 0, SEEK_SET), 0);
    done("lseek", lseek(fd, 10, SEEK_CUR), 10);
    for (int i = 0; i < 3; i++)
        done("readv", readv(fd, pair, 2), 100);
    for (int i = 0; i < 2; i++)
        done("preadv", preadv(fd, small, 2, 5), 20);
    done("preadv2", preadv2(fd, &seven, 1, 0, 0), 7);
    close(fd);
}

/* b: 4 pwrite of 64, 2 writev of 60, 3 pwritev of 20, 1 pwritev2 of 7, 2 appended writes of 9:
 * 12 writes, 256 + 120 + 60 + 7 + 18 bytes; 2 opens, 2 closes; its size is 256 + 18 at last. */
static void writes(void) {
    struct iovec pair[2] = {{block, 30}, {block + 100, 30}};
    struct iovec small[2] = {{block, 10}, {block + 100, 10}};
    struct iovec seven = {block, 7};
    int fd = make("b", O_WRONLY | O_CREAT);
    for (int i = 0; i < 4; i++)
        done("pwrite", pwrite(fd, block, 64, 64 * i), 64);
    for (int i = 0; i < 2; i++)
        done("writev", writev(fd, pair, 2), 60);
    for (int i = 0; i < 3; i++)
        done("pwritev", pwritev(fd, small, 2, 5), 20);
    done("pwritev2", pwritev2(fd, &seven, 1, 0, 0), 7);
    close(fd);
    fd = make("b", O_WRONLY | O_APPEND);
    for (int i = 0; i < 2; i++)
        done("write", write(fd, block, 9), 9);
    close(fd);
}

/* from gives 5000 by sendfile to c, 7000 by copy_file_range to d, 4096 by splice into a pipe and
 * out to e; from: 3 reads, 16096 bytes. */
static void copies(void) {
    int ends[2];
    fill("from", 20000);
    int from = make("from", O_RDONLY);
    int c = make("c", O_WRONLY | O_CREAT), d = make("d", O_WRONLY | O_CREAT);
    int e = make("e", O_WRONLY | O_CREAT);
    done("sendfile", sendfile(c, from, NULL, 5000), 5000);
    done("copy_file_range", copy_file_range(from, NULL, d, NULL, 7000, 0), 7000);
    if (pipe(ends) != 0)
        die("pipe");
    done("splice", splice(from, NULL, ends[1], NULL, 4096, 0), 4096);
    done("splice", splice(ends[0], NULL, e, NULL, 4096, 0), 4096);
}

/* f: one descriptor and its double, in two processes: 3 + 4 + 5 writes of 10; 1 open, 3 closes. */
static void shared(void) {
    int fd = make("f", O_WRONLY | O_CREAT), second = dup(fd);
    for (int i = 0; i < 3; i++)
        done("write", write(fd, block, 10), 10);
    for (int i = 0; i < 4; i++)
        done("write", write(second, block, 10), 10);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 5; i++)
            done("write", write(fd, block, 10), 10);
        close(fd);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    close(fd);
    close(second);
}

static void *writer(void *fd) {
    for (int i = 0; i < 1000; i++)
        done("pwrite", pwrite(*(int *)fd, block, 8, 8 * i), 8);
    return NULL;
}

/* g: 4 threads, 1000 writes of 8 each. */
static void threads(void) {
    pthread_t all[4];
    int fd = make("g", O_WRONLY | O_CREAT);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, writer, &fd) != 0)
            die("pthread_create");
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    close(fd);
}

/* h: unlinked, then 100 written and read; then made anew, 50 written. */
static void deleted(void) {
    int fd = make("h", O_RDWR | O_CREAT);
    unlink("h");
    done("write", write(fd, block, 100), 100);
    done("pread", pread(fd, block, 100, 0), 100);
    close(fd);
    fd = make("h", O_WRONLY | O_CREAT);
    done("write", write(fd, block, 50), 50);
    close(fd);
}

/* Names that are hard to print, 10 bytes each, and a folder 20 levels deep. */
static void names(void) {
    char name[256];
    fill("new\nline", 10);
    fill("\xff\xfe", 10);
    memset(name, 'n', 255);
    name[255] = 0;
    fill(name, 10);
    memset(name, 'm', 64);
    name[64] = 0;
    fill(name, 10);
    for (int i = 0; i < 20; i++)
        if (mkdir("deep", 0755) != 0 || chdir("deep") != 0)
            die("deep");
    fill("end", 10);
}

/* i: 40 writes, of 1, 2, ... 40 bytes, then 50 of 700: 90 writes, 820 + 35000 bytes. */
static void sizes(void) {
    int fd = make("i", O_WRONLY | O_CREAT);
    for (int i = 1; i <= 40; i++)
        done("write", write(fd, block, i), i);
    for (int i = 0; i < 50; i++)
        done("write", write(fd, block, 700), 700);
    close(fd);
}

/* A pipe: 3 writes of 20 and one read of 60; a named one: 5 bytes; memory: 123 bytes; a pair of
 * sockets: 7 bytes written and 11 sent; a folder is opened; a read that fails; a mapping. */
static void kinds(void) {
    struct iovec none = {NULL, 8};
    int ends[2], pair[2];
    if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        die("pipe");
    for (int i = 0; i < 3; i++)
        done("write", write(ends[1], block, 20), 20);
    done("read", read(ends[0], block, 100), 60);
    done("write", write(pair[0], block, 7), 7);
    done("read", read(pair[1], block, 100), 7);
    done("send", send(pair[0], block, 11, 0), 11);
    done("recv", recv(pair[1], block, 100, 0), 11);
    if (mkfifo("fifo", 0644) != 0)
        die("fifo");
    int fifo = make("fifo", O_RDWR);
    done("write", write(fifo, block, 5), 5);
    done("read", read(fifo, block, 5), 5);
    int memory = memfd_create("plain", 0);
    done("write", write(memory, block, 123), 123);
    DIR *folder = opendir(".");
    while (readdir(folder))
        ;
    closedir(folder);
    fill("failing", 10);
    int fd = make("failing", O_WRONLY);
    done("read", read(fd, block, 10), -1);
    done("writev", writev(fd, &none, 1), -1);
    fill("mapped", 4096);
    fd = make("mapped", O_RDONLY);
    if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        die("mmap");
}

/* 3000 files of 100 bytes, each written, then each read by a child: 6000 opens and closes. */
static void tree(void) {
    char name[64];
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "d%d", i / 100);
        if (i % 100 == 0 && mkdir(name, 0755) != 0)
            die(name);
        snprintf(name, sizeof name, "d%d/f%d", i / 100, i);
        fill(name, 100);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3000; i++) {
            snprintf(name, sizeof name, "d%d/f%d", i / 100, i);
            int fd = make(name, O_RDONLY);
            done("read", read(fd, block, 4096), 100);
            close(fd);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Files of 5000, 700 and 100 bytes and one that is not there, each in its way: 7 bytes are left. */
static void overwrites(void) {
    int fd = make("o1", O_WRONLY | O_TRUNC);
    done("write", write(fd, block, 7), 7);
    close(fd);
    FILE *stream = fopen("o2", "w");
    if (stream == NULL || fwrite(block, 1, 7, stream) != 7 || fclose(stream) != 0)
        die("o2");
    fd = make("o3", O_WRONLY | O_APPEND);
    done("write", write(fd, block, 9), 9);
    close(fd);
    fd = make("o3", O_WRONLY | O_TRUNC);
    done("write", write(fd, block, 7), 7);
    close(fd);
    fd = make("o4", O_WRONLY | O_CREAT | O_TRUNC);
    done("write", write(fd, block, 7), 7);
    close(fd);
}

/* 40 000 files of 10 bytes, each opened, written and closed once by one process. */
static void crowd(void) {
    char name[64];
    for (int i = 0; i < 40000; i++) {
        snprintf(name, sizeof name, "e%d", i / 1000);
        if (i % 1000 == 0 && mkdir(name, 0755) != 0)
            die(name);
        snprintf(name, sizeof name, "e%d/f%d", i / 1000, i);
        fill(name, 10);
    }
}

/* j: 2 direct writes of 4096; skips where the file system has none. */
static void direct(void) {
    int fd = open("j", O_WRONLY | O_CREAT | O_DIRECT, 0644);
    void *page;
    if (fd < 0)
        skip("O_DIRECT");
    if (posix_memalign(&page, 4096, 4096) != 0)
        die("posix_memalign");
    memset(page, 'x', 4096);
    for (int i = 0; i < 2; i++)
        if (write(fd, page, 4096) != 4096)
            skip("O_DIRECT");
    close(fd);
}

/* k: 10 writes of 100 through a stream, then 2 reads (one finds the end) of 1000; 2 opens, 2
 * closes. */
static void streams(void) {
    FILE *stream = fopen("k", "w");
    if (!stream)
        die("k");
    for (int i = 0; i < 10; i++) {
        done("fwrite", (long)fwrite(block, 1, 100, stream), 100);
        done("fflush", fflush(stream), 0);
    }
    done("fclose", fclose(stream), 0);
    stream = fopen("k", "r");
    if (!stream)
        die("k");
    long bytes = 0;
    while (fgetc(stream) != EOF)
        bytes++;
    done("fgetc", bytes, 1000);
    done("fclose", fclose(stream), 0);
}

/* l: 7 writes of 30, then no time to say goodbye; 1 open. */
static void killed(void) {
    pid_t child = fork();
    if (child == 0) {
        int fd = make("l", O_WRONLY | O_CREAT);
        for (int i = 0; i < 7; i++)
            done("write", write(fd, block, 30), 30);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
}

/* Children that borrow the parent's memory (vfork) open n and make it what m is to the parent,
 * which writes m before, between and after: m 5 writes of 11, n 4 writes of 6. */
static void borrowed(void) {
    int fd = make("m", O_WRONLY | O_CREAT);
    done("write", write(fd, block, 11), 11);
    for (int i = 0; i < 4; i++) {
        pid_t child = vfork();
        if (child == 0) {
            int other = open("n", O_WRONLY | O_CREAT | O_APPEND, 0644);
            if (dup2(other, fd) != fd || close(other) != 0 || write(fd, block, 6) != 6)
                _exit(1);
            _exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        done("child", status, 0);
        done("write", write(fd, block, 11), 11);
    }
    close(fd);
}

/* Each way to become another program, which writes 3 bytes to o: 9 writes, as many opens. */
static void execs(void) {
    char *self = "/proc/self/exe", *words[] = {"calls", ".", "append", NULL};
    char path[4096];
    long length = readlink(self, path, sizeof path - 1);
    if (length < 0)
        die(self);
    path[length] = 0;
    for (int way = 0; way < 9; way++) {
        pid_t child = way == 7 || way == 8 ? 0 : fork();
        if (way == 7)
            done("posix_spawn", posix_spawn(&child, path, NULL, NULL, words, environ), 0);
        else if (way == 8)
            done("posix_spawnp", posix_spawnp(&child, path, NULL, NULL, words, environ), 0);
        else if (child == 0) {
            switch (way) {
            case 0: execl(path, "calls", ".", "append", NULL); break;
            case 1: execlp(path, "calls", ".", "append", "more", "words", "than", "registers",
                           NULL); break;
            case 2: execle(path, "calls", ".", "append", NULL, environ); break;
            case 3: execv(path, words); break;
            case 4: execvp(path, words); break;
            case 5: execve(path, words, environ); break;
            default: fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ);
            }
            die("exec");
        }
        int status = 1;
        waitpid(child, &status, 0);
        done("child", status, 0);
    }
}

static void append(void) {
    int fd = make("o", O_WRONLY | O_CREAT | O_APPEND);
    done("write", write(fd, "abc", 3), 3);
    close(fd);
}

/* The C library starts a shell by itself, which becomes the program that appends: twice. */
static void shells(void) {
    char path[4096], command[4200];
    long length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        die("/proc/self/exe");
    path[length] = 0;
    snprintf(command, sizeof command, "exec '%s' . append", path);
    done("system", system(command), 0);
    FILE *stream = popen(command, "r");
    if (!stream)
        die("popen");
    done("pclose", pclose(stream), 0);
}

/* p: 3000 processes after one another, each with 2 writes of 5; q: each a stream of its own. */
static void storm(void) {
    for (int i = 0; i < 3000; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fd = make("p", O_WRONLY | O_CREAT | O_APPEND);
            for (int j = 0; j < 2; j++)
                done("write", write(fd, block, 5), 5);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void *wait_for_input(void *end) {
    char byte;
    read(*(int *)end, &byte, 1);
    return NULL;
}

/* A thread that waits in a read is cancelled, and cleans up; r: 1 write of 9 after that. */
static void cancelled(void) {
    int ends[2], fd = make("r", O_WRONLY | O_CREAT);
    pthread_t thread;
    void *result;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, wait_for_input, &ends[0]) != 0)
        die("pthread_create");
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    done("cancelled", result == PTHREAD_CANCELED, 1);
    done("write", write(fd, block, 9), 9);
    close(fd);
}

static int signalled;

static void on_alarm(int number) {
    (void)number;
    done("write", write(signalled, "s", 1), 1);
}

static void *busy_thread(void *which) {
    char name[16];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "s%ld_%d", (long)which, i % 100);
        int fd = make(name, O_WRONLY | O_CREAT | O_APPEND), second = dup(fd);
        done("write", write(fd, block, 10), 10);
        done("write", write(second, block, 5), 5);
        close(fd);
        close(second);
        FILE *stream = fopen("t", "a");
        fputs("line\n", stream);
        fclose(stream);
        if (i % 100 == 0) {
            pid_t child = fork();
            if (child == 0) {
                fd = make("u", O_WRONLY | O_CREAT | O_APPEND);
                done("write", write(fd, block, 3), 3);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    }
    return NULL;
}

/* 4 threads beside one another, forks and signals in between: s0_0 to s3_99 each 4 opens, 8 closes,
 * 8 writes, 60 bytes; t 1600 opens, closes and writes of 5; u 16 opens and writes of 3; v as many
 * writes of 1 as signals came. */
static void busy(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    pthread_t all[4];
    signalled = make("v", O_WRONLY | O_CREAT);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, busy_thread, (void *)i) != 0)
            die("pthread_create");
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
}

/* A descriptor of aa goes to a child by a message, which writes 10 there; when that is closed with
 * its whole range, its number is a double of one of bb: 20 there. Each 1 open, 1 write. */
static void passed(void) {
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec byte = {block, 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = room,
                             .msg_controllen = sizeof room};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        die("socketpair");
    pid_t child = fork();
    if (child == 0) {
        done("recvmsg", recvmsg(ends[1], &message, 0), 1);
        int got, other = make("bb", O_WRONLY | O_CREAT);
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
        done("write", write(got, block, 10), 10);
        if (syscall(SYS_close_range, got, got, 0) != 0)
            close(got);
        done("dup", dup(other), got);
        done("write", write(got, block, 20), 20);
        _exit(0);
    }
    int fd = make("aa", O_WRONLY | O_CREAT);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    done("sendmsg", sendmsg(ends[0], &message, 0), 1);
    int status = 1;
    waitpid(child, &status, 0);
    done("child", status, 0);
}

/* w: 40 reads of 1024, the end, from the start 10 of 1024, in a child and through a double 6 each,
 * 20 of 512 somewhere, 5 that find 100 or less: 88 reads, 40960 + 10240 + 12288 + 10240 + 110;
 * x: 30 writes of 100, 10 of 7 somewhere; 3070 bytes. */
static void whole(void) {
    fill("w", 40960);
    int fd = make("w", O_RDONLY), x = make("x", O_WRONLY | O_CREAT);
    for (int i = 0; i < 40; i++)
        done("read", read(fd, block, 1024), 1024);
    done("read", read(fd, block, 1024), 0);
    done("lseek", lseek(fd, 0, SEEK_SET), 0);
    for (int i = 0; i < 10; i++)
        done("read", read(fd, block, 1024), 1024);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 6; i++)
            done("read", read(fd, block, 1024), 1024);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    int second = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < 6; i++)
        done("read", read(second, block, 1024), 1024);
    for (int i = 0; i < 20; i++)
        done("pread", pread(fd, block, 512, 1024 * i), 512);
    done("lseek", lseek(second, -100, SEEK_END), 40860);
    done("read", read(fd, block, 90), 90);
    done("read", read(fd, block, 90), 10);
    done("read", read(fd, block, 90), 0);
    done("pread", pread(fd, block, 100, 40950), 10);
    done("pread", pread(fd, block, 100, 40960), 0);
    for (int i = 0; i < 30; i++)
        done("write", write(x, block, 100), 100);
    for (int i = 0; i < 10; i++)
        done("pwrite", pwrite(x, block, 7, i), 7);
    close(fd);
    close(second);
    close(x);
}

/* y: 30 reads of 100, and when the file has become shorter one of 50 and two of nothing: 33 reads,
 * 3050 bytes. z: 20 writes of 1000, and one for which there is no room: 20480 bytes. */
static void shrinks(void) {
    struct rlimit room = {20480, 20480};
    fill("y", 10000);
    int fd = make("y", O_RDONLY);
    for (int i = 0; i < 30; i++)
        done("read", read(fd, block, 100), 100);
    done("truncate", truncate("y", 3050), 0);
    done("read", read(fd, block, 100), 50);
    for (int i = 0; i < 2; i++)
        done("read", read(fd, block, 100), 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &room);
    fd = make("z", O_WRONLY | O_CREAT);
    for (int i = 0; i < 20; i++)
        done("write", write(fd, block, 1000), 1000);
    done("write", write(fd, block, 1000), 480);
    done("write", write(fd, block, 1000), -1);
}

static volatile int parted_ready, parted_go;

static void *parted_thread(void *unused) {
    if (unshare(CLONE_FILES) != 0)
        die("unshare");
    int fd = make("ac", O_WRONLY | O_CREAT);
    parted_ready = 1;
    while (!parted_go)
        usleep(100);
    for (int i = 0; i < 100; i++)
        done("write", write(fd, block, 12), 12);
    close(fd);
    return unused;
}

/* A thread with descriptors of its own and the first one have different files by the same number;
 * ab 2 writes of 1, ac 100 of 12. */
static void parted(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, parted_thread, NULL) != 0)
        die("pthread_create");
    while (!parted_ready)
        usleep(100);
    int fd = make("ab", O_WRONLY | O_CREAT);
    done("write", write(fd, block, 1), 1);
    parted_go = 1;
    pthread_join(thread, NULL);
    done("write", write(fd, block, 1), 1);
    close(fd);
}

/* By syscall(2) alone: ad 1 open, 1 close, 2 writes of 10, 1 read of 5, 1 seek; then the number is
 * that of ae: the same, but one write of 20. */
static void raw(void) {
    const char *names[] = {"ad", "ae"};
    for (int i = 0; i < 2; i++) {
        int fd = syscall(SYS_openat, AT_FDCWD, names[i], O_RDWR | O_CREAT, 0644);
        for (int j = i; j < 2; j++)
            done("write", syscall(SYS_write, fd, block, i ? 20 : 10), i ? 20 : 10);
        done("lseek", syscall(SYS_lseek, fd, 0, SEEK_SET), 0);
        done("read", syscall(SYS_read, fd, block, 5), 5);
        done("close", syscall(SYS_close, fd), 0);
    }
}

/* A stream of af becomes one of ag, and that one of ag for reading: af 1 open, 0 closes; ag 2
 * opens, 1 write of 5, 3 closes, for each new one takes the old number and closes its own. */
static void reopened(void) {
    FILE *stream = fopen("af", "w");
    if (!stream || !freopen("ag", "w", stream))
        die("ag");
    fputs("hello", stream);
    if (!freopen("ag", "r", stream))
        die("ag");
    done("fclose", fclose(stream), 0);
}

/* ah: 10 writes of 4096 by io_submit, each a call of its own; 1 open, 1 close. */
static void submits(void) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 8, &context) != 0)
        skip("io_setup");
    int fd = make("ah", O_WRONLY | O_CREAT);
    for (int i = 0; i < 10; i++) {
        struct iocb ask = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd,
                           .aio_buf = (uintptr_t)block, .aio_nbytes = 4096,
                           .aio_offset = 4096 * i};
        struct iocb *all[1] = {&ask};
        struct io_event event;
        done("io_submit", syscall(SYS_io_submit, context, 1, all), 1);
        done("io_getevents", syscall(SYS_io_getevents, context, 1, 1, &event, NULL), 1);
        done("event", event.res, 4096);
    }
    close(fd);
}

/* ai: 2 writes of 3, one of them behind a promise that a filter of system calls may follow, where
 * another file is opened, written once (7) and closed. */
static void filtered(void) {
    int fd = make("ai", O_WRONLY | O_CREAT);
    done("write", write(fd, block, 3), 3);
    done("prctl", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    done("write", write(fd, block, 3), 3);
    fd = make("aj", O_WRONLY | O_CREAT);
    done("write", write(fd, block, 7), 7);
    close(fd);
}

/* /dev/full: 3 write, 2 writev, 1 pwrite, 1 write by syscall(2), all of which find no room, and 2
 * read of 10; 1 open, 1 close. ak: 1 read of a file that is open for writing alone. */
static void room(void) {
    struct iovec pair[2] = {{block, 50}, {block + 100, 50}};
    int fd = make("/dev/full", O_RDWR);
    for (int i = 0; i < 3; i++)
        done("write", write(fd, block, 10) == -1 && errno == ENOSPC, 1);
    for (int i = 0; i < 2; i++)
        done("writev", writev(fd, pair, 2) == -1 && errno == ENOSPC, 1);
    done("pwrite", pwrite(fd, block, 10, 0) == -1 && errno == ENOSPC, 1);
    done("syscall", syscall(SYS_write, fd, block, 10) == -1 && errno == ENOSPC, 1);
    for (int i = 0; i < 2; i++)
        done("read", read(fd, block, 10), 10);
    close(fd);
    fd = make("ak", O_WRONLY | O_CREAT);
    done("read", read(fd, block, 10) == -1 && errno == EBADF, 1);
    close(fd);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"reads", reads},   {"writes", writes}, {"copies", copies}, {"shared", shared},
    {"threads", threads}, {"deleted", deleted}, {"names", names}, {"sizes", sizes},
    {"kinds", kinds},   {"tree", tree},     {"direct", direct},
    {"streams", streams}, {"killed", killed}, {"borrowed", borrowed}, {"execs", execs},
    {"shells", shells},
    {"append", append},   {"storm", storm},   {"cancelled", cancelled},
    {"busy", busy}, {"passed", passed}, {"whole", whole}, {"shrinks", shrinks},
    {"parted", parted}, {"raw", raw}, {"reopened", reopened}, {"submits", submits},
    {"filtered", filtered}, {"crowd", crowd},
    {"overwrites", overwrites}, {"room", room},
};

int main(int argc, char **argv) {
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, word(argc, argv, 2)) == 0) {
            parts[i].run();
            return 0;
        }
    die(argv[2]);
}
