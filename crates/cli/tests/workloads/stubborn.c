/* stubborn FILE [main]: writes to FILE the pids of: itself, a child that ignores SIGTERM, a child
 * that is stopped, a child in its own session that ignores SIGTERM, SIGINT and SIGHUP, and a
 * stopped one in its own session; then prints `ready` and waits. With `main` it ignores SIGTERM
 * itself, else SIGTERM ends it. Truth: 5 processes. */
#include "truth.h"

static FILE *list;

static void child(int session, int deaf, int stop, int ready) {
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0) {
        fprintf(list, "%d\n", pid);
        return;
    }
    if (session)
        setsid();
    if (deaf)
        signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), signal(SIGHUP, SIG_IGN);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    close(ready);
    if (stop)
        raise(SIGSTOP);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    int ready[2];
    char c[4];
    list = fopen(word(argc, argv, 1), "w");
    if (list == NULL || pipe(ready) != 0)
        die(argv[1]);
    if (argc > 2)
        signal(SIGTERM, SIG_IGN);
    setbuf(list, NULL);
    fprintf(list, "%d\n", getpid());
    child(0, 1, 0, ready[1]);
    child(0, 0, 1, ready[1]);
    child(1, 1, 0, ready[1]);
    child(1, 0, 1, ready[1]);
    for (int got = 0; got < 4;) {
        ssize_t n = read(ready[0], c, sizeof c);
        if (n <= 0)
            die("read");
        got += (int)n;
    }
    fprintf(list, "ready\n");
    fclose(list);
    if (write(1, "ready\n", 6) != 6)
        die("write");
    for (;;)
        pause();
}
