/* jail MODE COMMAND...: runs COMMAND under a seccomp filter as containers have it.
 *   default: what such profiles refuse answers EPERM (BPF, perf, mounts, name spaces, keys,
 *            fanotify, io_uring, handles), clone3 ENOSYS
 *   trace:   as default, and ptrace and process_vm_readv answer EPERM (profiles for Linux < 4.8)
 *   old:     as trace, and so does every call that is younger than Linux 4.19
 *   ppoll, signalfd: as default, and that call answers ENOSYS
 * Skips where a filter cannot be had. */
#include "truth.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const int refused[] = {
    SYS_bpf, SYS_perf_event_open, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_setns, SYS_unshare,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_userfaultfd, SYS_fanotify_init,
    SYS_open_by_handle_at, SYS_quotactl, SYS_acct, SYS_swapon, SYS_swapoff, SYS_reboot,
    SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_syslog,
    SYS_settimeofday, SYS_clock_settime, SYS_lookup_dcookie, SYS_io_uring_setup,
    SYS_io_uring_enter, SYS_io_uring_register, SYS_fsopen, SYS_move_mount, SYS_open_tree,
};
static const int ppoll_call[] = {SYS_ppoll}, signalfd_call[] = {SYS_signalfd4};
static const int tracing[] = {SYS_ptrace, SYS_process_vm_readv};
/* pidfd_send_signal: all numbers from here on are the same on every machine. */
enum { YOUNG = 424 };

static struct sock_filter filter[128];
static unsigned short length;

static void add(unsigned short code, unsigned yes, unsigned no, unsigned value) {
    filter[length++] = (struct sock_filter){code, (unsigned char)yes, (unsigned char)no, value};
}

static void answer(const int *calls, size_t count, unsigned what) {
    for (size_t i = 0; i < count; i++) {
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)calls[i]);
        add(BPF_RET | BPF_K, 0, 0, what);
    }
}

int main(int argc, char **argv) {
    const unsigned eperm = SECCOMP_RET_ERRNO | EPERM, enosys = SECCOMP_RET_ERRNO | ENOSYS;
    const int clone3 = SYS_clone3;
    if (argc < 3)
        die("usage: jail default|trace|old|ppoll|signalfd COMMAND...");
    int old = strcmp(argv[1], "old") == 0, trace = old || strcmp(argv[1], "trace") == 0;
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    if (old) {
        add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, YOUNG);
        add(BPF_RET | BPF_K, 0, 0, eperm);
    }
    if (trace)
        answer(tracing, sizeof tracing / sizeof *tracing, eperm);
    if (strcmp(argv[1], "ppoll") == 0)
        answer(ppoll_call, 1, enosys);
    if (strcmp(argv[1], "signalfd") == 0)
        answer(signalfd_call, 1, enosys);
    answer(&clone3, 1, enosys);
    answer(refused, sizeof refused / sizeof *refused, eperm);
    add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        skip("no_new_privs");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip("seccomp");
    execvp(argv[2], argv + 2);
    die("exec");
    return 1;
}
