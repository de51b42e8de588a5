/* silent DIR FILE: a process whose memory stays locked: a thread of it reads, by /proc/self/mem, a
 * page of a file on DIR that never comes, and another waits behind it to map memory. Writes its pid
 * and that of a child to FILE. Exits with 99 where no file system can be mounted on DIR.
 * Truth: whoever reads /proc/PID/cmdline or smaps_rollup waits until it ends; of the child nobody
 * does. */
#include "truth.h"
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGE 4096UL

/* What its processes tell one another. */
struct told {
    volatile int read_begun, mapper;
};

static int server;
static struct told *told;
static char *page;
static char request[FUSE_MIN_READ_BUFFER + PAGE];

static void answer(const void *body, size_t size) {
    char out[512];
    struct fuse_in_header *in = (void *)request;
    struct fuse_out_header head = {.len = sizeof head + size, .unique = in->unique};
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, body, size);
    if (write(server, out, head.len) != (ssize_t)head.len)
        _exit(1);
}

/* A file of one page, whatever its name. */
static struct fuse_attr attributes(int is_folder) {
    struct fuse_attr attr = {.ino = is_folder ? 1 : 2, .size = PAGE, .blocks = 8, .nlink = 1};
    attr.mode = is_folder ? S_IFDIR | 0755 : S_IFREG | 0444;
    attr.uid = getuid(), attr.gid = getgid(), attr.blksize = PAGE;
    return attr;
}

/* Answers everything but reads. */
static void serve(void) {
    struct fuse_in_header *in = (void *)request;
    while (read(server, request, sizeof request) > 0) {
        struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = PAGE};
        struct fuse_entry_out entry = {.nodeid = 2, .entry_valid = 999, .attr_valid = 999};
        struct fuse_attr_out attr = {.attr_valid = 999, .attr = attributes(in->nodeid == 1)};
        struct fuse_open_out opened = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};
        entry.attr = attributes(0);
        switch (in->opcode) {
        case FUSE_INIT: answer(&init, sizeof init); break;
        case FUSE_LOOKUP: answer(&entry, sizeof entry); break;
        case FUSE_GETATTR: answer(&attr, sizeof attr); break;
        case FUSE_OPEN: answer(&opened, sizeof opened); break;
        case FUSE_READ: told->read_begun = 1; break;
        default: break;
        }
    }
    _exit(0);
}

static void start_server(void) {
    pid_t parent = getpid();
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    serve();
}

static void *read_page(void *unused) {
    char byte;
    int memory = open("/proc/self/mem", O_RDONLY);
    if (memory < 0 || pread(memory, &byte, 1, (off_t)(uintptr_t)page) < 0)
        die("/proc/self/mem");
    return unused;
}

static void *map_page(void *unused) {
    while (!told->read_begun)
        usleep(1000);
    told->mapper = (int)syscall(SYS_gettid);
    mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return unused;
}

/* Whether a thread of our parent waits in the kernel. */
static int waits(int tid) {
    char name[99], text[512];
    snprintf(name, sizeof name, "/proc/%d/task/%d/stat", getppid(), tid);
    int fd = open(name, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        die(name);
    close(fd);
    text[got] = 0;
    return strstr(text, ") D ") != NULL;
}

/* Tells both pids once the memory is locked. */
static void watch(const char *file) {
    char name[4096];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(server);
    while (told->mapper == 0 || !waits(told->mapper))
        usleep(1000);
    snprintf(name, sizeof name, "%s.new", file);
    FILE *out = fopen(name, "w");
    if (out == NULL || fprintf(out, "%d\n%d\nready\n", getppid(), getpid()) < 0 ||
        fclose(out) != 0 || rename(name, file) != 0)
        die(file);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    char name[4096], options[99];
    pthread_t reader, mapper;
    told = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", server,
             getuid(), getgid());
    snprintf(name, sizeof name, "%s/f", word(argc, argv, 1));
    if (told == MAP_FAILED || server < 0 || mount("silent", argv[1], "fuse", 0, options) != 0)
        return 99;
    if (fork() == 0)
        watch(word(argc, argv, 2));
    start_server();
    int fd = open(name, O_RDONLY);
    close(server);
    page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd < 0 || page == MAP_FAILED)
        die(name);
    if (pthread_create(&mapper, NULL, map_page, NULL) != 0 ||
        pthread_create(&reader, NULL, read_page, NULL) != 0)
        die("pthread_create");
    for (;;)
        pause();
}
