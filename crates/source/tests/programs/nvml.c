/* A stand-in for the driver's library, with two devices and one truth.
 * Device 0: the pid in the file $GPU_PID_FILE (else 7) runs on it with 700 MiB, busy in 40 and 60 %
 * of two samples; pid 8 too, 100 MiB, idle. Accounting is on: pid 8 has an account from before, the
 * other one of 900 MiB, 25 % of 8 s.
 * Device 1: nobody; process utilisation and accounting are not supported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

typedef unsigned long long u64;
struct memory { unsigned version; u64 total, reserved, free, used; };
struct process { unsigned pid; u64 used; unsigned instance, compute; };
struct sample { unsigned pid; u64 at; unsigned sm, memory, encoder, decoder; };
struct account { unsigned gpu, memory; u64 peak, time, start; unsigned running, reserved[5]; };

static long device(void *handle) { return (long)handle - 1; }

static unsigned pid(void) {
    const char *name = getenv("GPU_PID_FILE");
    unsigned pid = 7;
    FILE *file = name ? fopen(name, "r") : NULL;
    if (file && fscanf(file, "%u", &pid) != 1)
        pid = 7;
    if (file)
        fclose(file);
    return pid;
}

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int error) { (void)error; return "stand-in"; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 2;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = (void *)(long)(index + 1);
    return OK;
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned length) {
    strncpy(text, device(handle) ? "GPU-1" : "GPU-0", length);
    return OK;
}

int nvmlDeviceGetName(void *handle, char *text, unsigned length) {
    (void)handle;
    strncpy(text, "Stand-in", length);
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory *memory) {
    memory->total = 16ull << 30;
    memory->used = device(handle) ? 0 : 800ull << 20;
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
    rates[0] = device(handle) ? 0 : 70;
    rates[1] = 0;
    return OK;
}

int nvmlDeviceGetAccountingMode(void *handle, unsigned *mode) {
    *mode = device(handle) == 0;
    return OK;
}

int nvmlDeviceGetAccountingPids(void *handle, unsigned *count, unsigned *pids) {
    if (device(handle))
        return NOT_SUPPORTED;
    if (*count < 2) {
        *count = 2;
        return INSUFFICIENT_SIZE;
    }
    pids[0] = 8;
    pids[1] = pid();
    *count = 2;
    return OK;
}

int nvmlDeviceGetAccountingStats(void *handle, unsigned who, struct account *account) {
    if (device(handle) || (who != 8 && who != pid()))
        return NOT_FOUND;
    memset(account, 0, sizeof *account);
    account->gpu = 25;
    account->peak = 900ull << 20;
    account->time = 8000;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct process *list) {
    if (device(handle)) {
        *count = 0;
        return OK;
    }
    if (*count < 2) {
        *count = 2;
        return INSUFFICIENT_SIZE;
    }
    list[0] = (struct process){ pid(), 700ull << 20, 0, 0 };
    list[1] = (struct process){ 8, 100ull << 20, 0, 0 };
    *count = 2;
    return OK;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count, struct process *list) {
    (void)handle, (void)list;
    *count = 0;
    return OK;
}

int nvmlDeviceGetProcessUtilization(void *handle, struct sample *list, unsigned *count, u64 seen) {
    if (device(handle))
        return NOT_SUPPORTED;
    if (seen >= 2000)
        return NOT_FOUND;
    if (*count < 2) {
        *count = 2;
        return INSUFFICIENT_SIZE;
    }
    list[0] = (struct sample){ .pid = pid(), .at = 1000, .sm = 40 };
    list[1] = (struct sample){ .pid = pid(), .at = 2000, .sm = 60 };
    *count = 2;
    return OK;
}
