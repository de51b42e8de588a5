/* daemon gone|linger MS MIB FILE: a double-forked child with its own session fills MIB MiB, uses
 * MS milliseconds of CPU time, then ends (linger), or writes its pid to FILE and waits for a signal
 * (gone). `linger`: the first process ends after the daemon, with status 4. `gone`: it ends
 * with status 4 when FILE is written.
 * Truth: 3 processes; `daemon_cpu_us N` by the daemon itself. */
#include "truth.h"

static void work(long ms, long mib, int gone, const char *file, int done) {
    filled(mib, MAP_PRIVATE);
    burn_ms(ms);
    printf("daemon_cpu_us %ld\n", rusage_us(RUSAGE_SELF));
    fflush(stdout);
    if (gone) {
        FILE *out = fopen(file, "w");
        if (out == NULL || fprintf(out, "%d\n", getpid()) < 0 || fclose(out) != 0)
            die(file);
        close(0), close(1), close(2), close(done);
        for (;;)
            pause();
    }
    _exit(0);
}

int main(int argc, char **argv) {
    int gone = strcmp(word(argc, argv, 1), "gone") == 0, done[2];
    long ms = number(argc, argv, 2), mib = number(argc, argv, 3);
    const char *file = word(argc, argv, 4);
    char c;
    if (pipe(done) != 0)
        die("pipe");
    pid_t first = fork();
    if (first == 0) {
        setsid();
        if (fork() == 0) {
            close(done[0]);
            work(ms, mib, gone, file, done[1]);
        }
        _exit(0);
    }
    close(done[1]);
    waitpid(first, NULL, 0);
    if (read(done[0], &c, 1) != 0)
        die("read");
    return 4;
}
