/* leak clean|leak: built with -fsanitize=address. Frees what it took, or not: LeakSanitizer then
 * says so and exits with 23 (ASAN_OPTIONS=exitcode=23 is set inside). It cannot work under ptrace.
 * Truth: status 0 or 23. */
#include <stdlib.h>
#include <string.h>

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "exitcode=23"; }

static char *volatile kept;

int main(int argc, char **argv) {
    kept = malloc(4000);
    memset(kept, 1, 4000);
    if (argc > 1 && strcmp(argv[1], "clean") == 0)
        free(kept);
    kept = NULL;
    return 0;
}
