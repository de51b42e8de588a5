/* aio DIR PART: reads and writes by POSIX aio, whose calls the C library makes in threads of its
 * own. Truth: by construction, see the part. */
#include "truth.h"
#include <aio.h>

static char block[1 << 12];

static void done(const char *what, long result, long wanted) {
    if (result != wanted)
        die(what);
}

static struct aiocb request(int fd, int wish, size_t bytes, off_t offset) {
    struct aiocb it = {.aio_fildes = fd, .aio_lio_opcode = wish, .aio_buf = block,
                       .aio_nbytes = bytes, .aio_offset = offset};
    it.aio_sigevent.sigev_notify = SIGEV_NONE;
    return it;
}

static void wait_for(struct aiocb *it) {
    const struct aiocb *list[] = {it};
    while (aio_error(it) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
}

/* a: 3 writes of 1000 by aio_write, 2 reads of 500 by aio_read and one that finds the end, 1 write
 * of 100 and 1 read of 50 by lio_listio: 4 reads, 1050 bytes, 4 writes, 3100 bytes. */
static void asked(int fd) {
    for (int i = 0; i < 3; i++) {
        struct aiocb it = request(fd, LIO_NOP, 1000, 1000 * i);
        done("aio_write", aio_write(&it), 0);
        wait_for(&it);
        done("aio_return", aio_return(&it), 1000);
    }
    for (int i = 0; i < 3; i++) {
        struct aiocb it = request(fd, LIO_NOP, 500, i < 2 ? 0 : 1 << 20);
        done("aio_read", aio_read(&it), 0);
        wait_for(&it);
        done("aio_return", aio_return(&it), i < 2 ? 500 : 0);
    }
    struct aiocb pair[] = {request(fd, LIO_WRITE, 100, 0), request(fd, LIO_READ, 50, 0)};
    struct aiocb nothing = request(fd, LIO_NOP, 0, 0);
    struct aiocb *list[] = {&pair[0], NULL, &pair[1], &nothing};
    done("lio_listio", lio_listio(LIO_WAIT, list, 4, NULL), 0);
    done("aio_return", aio_return(&pair[0]), 100);
    done("aio_return", aio_return(&pair[1]), 50);
    struct aiocb synced = request(fd, LIO_NOP, 0, 0);
    done("aio_fsync", aio_fsync(O_SYNC, &synced), 0);
    wait_for(&synced);
    done("aio_return", aio_return(&synced), 0);
}

/* a: 1 write of 1000 of whose result nobody asks. */
static void unasked(int fd) {
    struct aiocb it = request(fd, LIO_NOP, 1000, 0);
    done("aio_write", aio_write(&it), 0);
    wait_for(&it);
}

int main(int argc, char **argv) {
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    int fd = open("a", O_RDWR | O_CREAT, 0644);
    if (fd < 0)
        die("a");
    if (strcmp(word(argc, argv, 2), "asked") == 0)
        asked(fd);
    else
        unasked(fd);
    close(fd);
    return 0;
}
