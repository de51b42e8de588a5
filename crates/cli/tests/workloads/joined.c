/* joined N: N threads, each started once the one before it was joined.
 * Truth: two threads at once, the first included. */
#include "truth.h"
#include <pthread.h>

static void *nothing(void *unused) {
    return unused;
}

int main(int argc, char **argv) {
    long n = number(argc, argv, 1);
    for (long i = 0; i < n; i++) {
        pthread_t thread;
        if ((errno = pthread_create(&thread, NULL, nothing, NULL)) != 0)
            die("pthread_create");
        pthread_join(thread, NULL);
    }
    return 0;
}
