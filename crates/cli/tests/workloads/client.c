/* client: does nothing for half a second, whatever it is told; stands under other names for
 * programs that hand their work to a daemon or another machine. Truth: it used nothing itself. */
#include "truth.h"

int main(void) {
    struct timespec t = {0, 500000000};
    nanosleep(&t, NULL);
    return 0;
}
