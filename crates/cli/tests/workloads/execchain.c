/* execchain N MS: executes itself N times in the same process, then uses MS milliseconds more of
 * CPU time. Truth: one process, `cpu_us N`. */
#include "truth.h"

int main(int argc, char **argv) {
    long left = number(argc, argv, 1), ms = number(argc, argv, 2);
    if (left > 0) {
        char next[32];
        snprintf(next, sizeof next, "%ld", left - 1);
        execl("/proc/self/exe", argv[0], next, argv[2], (char *)NULL);
        die("exec");
    }
    burn_ms(ms);
    print_cpu();
    return 0;
}
