/* compute N: N million rounds of arithmetic, no system call. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t left = strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * 1000000;
    uint64_t x = 88172645463325252ULL;
    for (; left > 0; left--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x == 0;
}
