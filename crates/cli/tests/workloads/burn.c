/* burn MS [hold]: uses MS milliseconds of CPU time (user), says how much the kernel counted, then
 * exits with 0, or waits for a signal.
 * Truth: `cpu_us N`. */
#include "truth.h"

int main(int argc, char **argv) {
    burn_ms(number(argc, argv, 1));
    print_cpu();
    while (argc > 2)
        pause();
    return 0;
}
