/* fat MIB COMMAND [ARG...]: has MIB MiB resident while it starts COMMAND (by fork), waits for it
 * and ends as it did. Truth: COMMAND itself is as small as ever. */
#include "truth.h"

int main(int argc, char **argv) {
    int status;
    word(argc, argv, 2);
    filled(number(argc, argv, 1), MAP_PRIVATE);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        execv(argv[2], argv + 2);
        die(argv[2]);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
