/* handed COMMAND [ARG...]: becomes COMMAND with the environment that it has itself, by the system
 * call alone, as programs do that have no C library or do not ask it. */
#include "truth.h"
#include <sys/syscall.h>

extern char **environ;

static long become(const char *path, char **words) {
    register long result __asm__(
#if defined(__x86_64__)
        "rax") = SYS_execve;
    __asm__ volatile("syscall"
                     : "+r"(result)
                     : "D"(path), "S"(words), "d"(environ)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
        "x0") = (long)path;
    register long call __asm__("x8") = SYS_execve;
    register char **list __asm__("x1") = words;
    register char **variables __asm__("x2") = environ;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(call), "r"(list), "r"(variables) : "memory");
#else
#error "handed knows no system calls of this processor"
#endif
    return result;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    return become(argv[1], argv + 1) < 0 ? 127 : 1;
}
