/* uring FILE [HOLD_MS [OUT]]: reads FILE to its end through io_uring, 64 KiB a request, which
 * /proc/PID/io does not see; then, with OUT, opens, writes and moves. Truth: `uring_bytes N`. A
 * HOLD_MS below zero closes the ring at once.
 * Skips where io_uring is not to be had. */
#include "truth.h"
#include <linux/io_uring.h>
#include <sys/syscall.h>

struct ring {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
};

static void setup(struct ring *ring) {
    struct io_uring_params p = {0};
    ring->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (ring->fd < 0)
        skip("io_uring_setup");
    size_t sq = p.sq_off.array + p.sq_entries * sizeof(unsigned);
    size_t cq = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
    char *s = mmap(NULL, sq, prot, flags, ring->fd, IORING_OFF_SQ_RING);
    char *c = mmap(NULL, cq, prot, flags, ring->fd, IORING_OFF_CQ_RING);
    ring->sqes = mmap(NULL, p.sq_entries * sizeof *ring->sqes, prot, flags, ring->fd,
                      IORING_OFF_SQES);
    if (s == MAP_FAILED || c == MAP_FAILED || ring->sqes == MAP_FAILED)
        die("mmap of the ring");
    ring->sq_tail = (unsigned *)(s + p.sq_off.tail);
    ring->sq_mask = (unsigned *)(s + p.sq_off.ring_mask);
    ring->sq_array = (unsigned *)(s + p.sq_off.array);
    ring->cq_head = (unsigned *)(c + p.cq_off.head);
    ring->cq_tail = (unsigned *)(c + p.cq_off.tail);
    ring->cq_mask = (unsigned *)(c + p.cq_off.ring_mask);
    ring->cqes = (struct io_uring_cqe *)(c + p.cq_off.cqes);
}

static int done(struct ring *ring, struct io_uring_sqe request) {
    unsigned tail = *ring->sq_tail, index = tail & *ring->sq_mask;
    ring->sqes[index] = request;
    ring->sq_array[index] = index;
    __atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        die("io_uring_enter");
    unsigned head = *ring->cq_head;
    while (__atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) == head)
        ;
    int result = ring->cqes[head & *ring->cq_mask].res;
    __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

static struct io_uring_sqe move(int opcode, int fd, void *buffer, unsigned size, uint64_t offset) {
    return (struct io_uring_sqe){.opcode = (uint8_t)opcode,
                                 .fd = fd,
                                 .addr = (uint64_t)(uintptr_t)buffer,
                                 .len = size,
                                 .off = offset};
}

/* Opens OUT, writes 4 times 4 KiB there, and moves 1000 bytes from FILE to a pipe. */
static void open_and_move(struct ring *ring, int file, char *out, char *buffer) {
    struct io_uring_sqe request = move(IORING_OP_OPENAT, AT_FDCWD, out, 0600, 0);
    int ends[2];
    request.open_flags = O_WRONLY | O_CREAT | O_APPEND;
    int fd = done(ring, request);
    if (fd < 0)
        skip("IORING_OP_OPENAT");
    for (unsigned i = 0; i < 4; i++)
        if (done(ring, move(IORING_OP_WRITE, fd, buffer, 4096, i * 4096)) != 4096)
            die("IORING_OP_WRITE");
    if (pipe(ends) != 0)
        die("pipe");
    request = move(IORING_OP_SPLICE, ends[1], NULL, 1000, (uint64_t)-1);
    request.splice_fd_in = file;
    if (done(ring, request) != 1000)
        die("IORING_OP_SPLICE");
}

int main(int argc, char **argv) {
    static char buffer[64 << 10];
    struct ring ring;
    int fd = open(word(argc, argv, 1), O_RDONLY);
    if (fd < 0)
        die(argv[1]);
    setup(&ring);
    uint64_t total = 0;
    int got;
    while ((got = done(&ring, move(IORING_OP_READ, fd, buffer, sizeof buffer, total))) > 0)
        total += (uint64_t)got;
    errno = -got;
    if (got < 0)
        skip("IORING_OP_READ");
    if (argc > 3)
        open_and_move(&ring, fd, argv[3], buffer);
    printf("uring_bytes %llu\n", (unsigned long long)total);
    fflush(stdout);
    /* Without events at exit a ring is only seen while its process lives. */
    long hold = argc > 2 ? number(argc, argv, 2) : 0;
    if (hold < 0) {
        close(ring.fd);
        return 0;
    }
    struct timespec t = {hold / 1000, hold % 1000 * 1000000};
    nanosleep(&t, NULL);
    return 0;
}
