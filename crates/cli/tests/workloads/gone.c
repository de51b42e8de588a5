/* gone PATH: removes PATH, its own file, while it runs. Truth: one process, a file that is gone. */
#include "truth.h"

int main(int argc, char **argv) {
    if (unlink(word(argc, argv, 1)) != 0)
        die("unlink");
    return 0;
}
