/* renamed NAME: ends by the name NAME, which may be empty. Truth: its short name at its end. */
#include "truth.h"
#include <sys/prctl.h>

int main(int argc, char **argv) {
    if (prctl(PR_SET_NAME, word(argc, argv, 1)) != 0)
        die("prctl");
    return 0;
}
