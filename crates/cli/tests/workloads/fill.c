/* fill MIB exit|kill|hold|exec|child [MS]: after MS milliseconds asleep touches MIB MiB of
 * anonymous memory, then at once exits with 0, dies of SIGKILL, prints `ready` and waits for a
 * signal, or becomes `true`. `child` is `exec` in a child.
 * Truth: peak resident memory = MIB MiB and the program itself (static: below 1 MiB). */
#include "truth.h"

int main(int argc, char **argv) {
    const char *end = word(argc, argv, 2);
    if (strcmp(end, "child") == 0 && fork() != 0)
        _exit(wait(NULL) < 0);
    if (argc > 3)
        usleep((useconds_t)number(argc, argv, 3) * 1000);
    filled(number(argc, argv, 1), MAP_PRIVATE);
    if (strcmp(end, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(end, "hold") == 0) {
        if (write(1, "ready\n", 6) != 6)
            _exit(1);
        for (;;)
            pause();
    }
    if (strcmp(end, "exec") == 0 || strcmp(end, "child") == 0)
        execl("/bin/true", "true", NULL);
    _exit(0);
}
