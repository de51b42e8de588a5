/* threadexec PROGRAM [ARG...]: a thread that is not the first executes PROGRAM while the first one
 * and another live: they end, and the pid stays. Truth: one process; PROGRAM's exit status. */
#include "truth.h"
#include <pthread.h>

static void *idle(void *unused) {
    while (unused == NULL)
        pause();
    return NULL;
}

static void *replace(void *argv) {
    execv(((char **)argv)[0], (char **)argv);
    die("exec");
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t a, b;
    word(argc, argv, 1);
    if (pthread_create(&a, NULL, idle, NULL) != 0 ||
        pthread_create(&b, NULL, replace, argv + 1) != 0)
        die("pthread_create");
    for (;;)
        pause();
}
