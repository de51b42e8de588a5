/* drop root DIR | drop user: goes where the files of its own start cannot be reached, and starts
 * programs from there in every way. Truth: prints a to f, one a line, and no other word comes. */
#include "truth.h"

static void ended(const char *what, int status) {
    if (status != 0)
        die(what);
}

static void wait_for(pid_t child) {
    int status = 1;
    waitpid(child, &status, 0);
    ended("child", status);
}

int main(int argc, char **argv) {
    char line[8] = "";
    pid_t child;
    if (strcmp(word(argc, argv, 1), "root") == 0) {
        if (chroot(word(argc, argv, 2)) != 0 || chdir("/") != 0)
            skip("chroot");
    } else if (setgid(65534) != 0 || setuid(65534) != 0) {
        skip("setuid");
    }
    ended("write", write(1, "a\n", 2) != 2);
    ended("system", system("/bin/echo b"));
    FILE *from = popen("/bin/echo c", "r");
    if (!from || !fgets(line, sizeof line, from) || pclose(from) != 0)
        die("popen");
    ended("write", write(1, line, 2) != 2);
    if ((child = fork()) == 0) {
        execl("/bin/echo", "echo", "d", NULL);
        die("execl");
    }
    wait_for(child);
    if ((child = fork()) == 0) {
        execlp("echo", "echo", "e", NULL);
        die("execlp");
    }
    wait_for(child);
    execle("/bin/echo", "echo", "f", "1", "2", "3", "4", "5", "6", NULL, environ);
    die("execle");
}
