/* owned MILLISECONDS: becomes the owner of its own file for good (the file must be setuid), sleeps
 * and exits with 6. Truth: who started it, if not root, may send it no signal. */
#include "truth.h"

int main(int argc, char **argv) {
    uid_t owner = geteuid();
    long ms = number(argc, argv, 1);
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    if (setresuid(owner, owner, owner) != 0)
        die("setresuid");
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
    return 6;
}
