/* hold FILE: writes its pid to FILE and waits for a signal. Truth: it lives until it is
 * ended. */
#include "truth.h"

int main(int argc, char **argv) {
    char name[4096];
    snprintf(name, sizeof name, "%s.new", word(argc, argv, 1));
    FILE *out = fopen(name, "w");
    if (out == NULL || fprintf(out, "%d\nready\n", getpid()) < 0 || fclose(out) != 0 ||
        rename(name, argv[1]) != 0)
        die(argv[1]);
    for (;;)
        pause();
}
