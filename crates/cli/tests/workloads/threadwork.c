/* threadwork MS stay|leave PROGRAM [ARG...]: a thread that is not the first uses MS milliseconds of
 * CPU time, then executes PROGRAM, while the first one sleeps, or has left. Truth: one process, its
 * CPU time PROGRAM's to tell. */
#include "truth.h"
#include <pthread.h>

static long ms;

static void *work(void *argv) {
    burn_ms(ms);
    execv(((char **)argv)[0], (char **)argv);
    die("exec");
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t worker;
    int leaves = strcmp(word(argc, argv, 2), "leave") == 0;
    ms = number(argc, argv, 1);
    word(argc, argv, 3);
    if (pthread_create(&worker, NULL, work, argv + 3) != 0)
        die("pthread_create");
    if (leaves)
        pthread_exit(NULL);
    for (;;)
        pause();
}
