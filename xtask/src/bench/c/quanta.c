/* quanta SECONDS: the same work again and again, about a millisecond each. Writes the shortest time
 * in ns, and how many took up to 1, 5, 10, 50 and 100 per cent longer than that, and more. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUANTA_MAX 200000

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void quantum(long rounds) {
    static volatile unsigned sum;
    for (long i = 0; i < rounds; i++)
        sum += i;
}

int main(int argc, char **argv) {
    static long long took[QUANTA_MAX];
    static const int bounds[] = {1, 5, 10, 50, 100};
    long counts[6] = {0}, n = 0, rounds = 1000;
    if (argc < 2)
        return 2;
    for (;; rounds += rounds / 4) {
        long long start = now();
        quantum(rounds);
        if (now() - start >= 1000000)
            break;
    }
    long long end = now() + atol(argv[1]) * 1000000000LL, shortest = 1LL << 62;
    while (now() < end && n < QUANTA_MAX) {
        long long start = now();
        quantum(rounds);
        took[n] = now() - start;
        if (took[n] < shortest)
            shortest = took[n];
        n++;
    }
    for (long i = 0; i < n; i++) {
        int class = 0;
        while (class < 5 && took[i] * 100 > shortest * (100 + bounds[class]))
            class++;
        counts[class]++;
    }
    printf("%lld", shortest);
    for (int i = 0; i < 6; i++)
        printf(" %ld", counts[i]);
    puts("");
    return 0;
}
