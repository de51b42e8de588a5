/* threads N MS: N threads (the first included) are alive at one instant; together with it they use
 * about MS milliseconds of CPU time.
 * Truth: N threads, one process, `cpu_us N` counted once. */
#include "truth.h"
#include <pthread.h>

static pthread_barrier_t all;
static long each_ms;

static void *work(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all);
    int64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + each_ms * 1000000;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (volatile int i = 0; i < 2000; i++)
            ;
    return NULL;
}

int main(int argc, char **argv) {
    long n = number(argc, argv, 1);
    each_ms = number(argc, argv, 2) / n;
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (long i = 1; i < n; i++)
        if ((errno = pthread_create(&threads[i], &small, work, NULL)) != 0)
            die("pthread_create");
    work(NULL);
    for (long i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    print_cpu();
    return 0;
}
