/* spawned DIR PROGRAM: PROGRAM is started by posix_spawn three times, what it prints put into files
 * that the C library opens for it. Truth: new is created; old was there and is cut; kept was there
 * and is not. */
#include "truth.h"
#include <spawn.h>

extern char **environ;

int main(int argc, char **argv) {
    const char *names[] = {"new", "old", "kept"};
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    for (int i = 0; i < 3; i++) {
        int how = O_WRONLY | (i < 2 ? O_CREAT | O_TRUNC : 0);
        char *words[] = {argv[2], NULL};
        posix_spawn_file_actions_t actions;
        pid_t child;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addclose(&actions, 0);
        posix_spawn_file_actions_addopen(&actions, 1, names[i], how, 0644);
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
        if (posix_spawn(&child, argv[2], &actions, NULL, words, environ) != 0)
            die("posix_spawn");
        posix_spawn_file_actions_destroy(&actions);
        waitpid(child, NULL, 0);
    }
    return 0;
}
