/* fault KIND: does what the kernel ends it for: an address without memory (address), writing what
 * may only be read (access), a page behind the end of a mapped file (file, which needs a folder
 * that can be written), an instruction that there is none of (instruction), a breakpoint
 * (breakpoint).
 * Truth: the signal, by its nature. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void behind_a_file(void) {
    char name[] = "fault.XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    volatile char *there = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    (void)there[0];
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    if (!strcmp(kind, "address")) {
        volatile char *nowhere = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap((void *)nowhere, 4096);
        nowhere[0] = 1;
    }
    if (!strcmp(kind, "access")) {
        volatile char *fixed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fixed[0] = 1;
    }
    if (!strcmp(kind, "file"))
        behind_a_file();
#if defined(__x86_64__)
    if (!strcmp(kind, "instruction"))
        __asm__ volatile("ud2");
    if (!strcmp(kind, "breakpoint"))
        __asm__ volatile("int3");
#endif
    return 99;
}
