/* A stand-in for the driver's library, with two devices and one truth.
 * Device 0: the pid in the file $GPU_PID_FILE (or 7) runs on it with 700 MiB, busy in 50 % of the
 * time of its two samples, which are there at the first look after the library was opened; pid 8
 * too, 100 MiB, idle. Accounting is on: pid 8 has an account from before, the other one of 900 MiB,
 * 25 % of 8 s.
 * Device 1 is divided, and lists who is on its part: the pid in the file $GPU_PART_PID_FILE (or 9)
 * with 300 MiB of 5 GiB; process utilisation and accounting are not supported.
 * Energy and bytes of device 0 move with each reading. The first word of the file $GPU_TROUBLE says
 * what a reading runs into: hang, crash. With OLDER it lacks what came later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

typedef unsigned long long u64;
struct memory { unsigned version; u64 total, reserved, free, used; };
struct process { unsigned pid; u64 used; unsigned instance, compute; };
struct sample { unsigned pid; u64 at; unsigned sm, memory, encoder, decoder; };
struct account { unsigned gpu, memory; u64 peak, time, start; unsigned running, reserved[5]; };

/* 2 is the part of device 1. */
static long device(void *handle) { return (long)handle - 1; }

static unsigned pid_of(const char *variable, unsigned usual) {
    const char *name = getenv(variable);
    unsigned pid = usual;
    FILE *file = name ? fopen(name, "r") : NULL;
    if (file && fscanf(file, "%u", &pid) != 1)
        pid = usual;
    if (file)
        fclose(file);
    return pid;
}

static unsigned pid(void) { return pid_of("GPU_PID_FILE", 7); }

static void run_into_trouble(void) {
    const char *name = getenv("GPU_TROUBLE");
    char what[8] = "";
    FILE *file = name ? fopen(name, "r") : NULL;
    if (!file)
        return;
    if (fscanf(file, "%7s", what) != 1)
        what[0] = 0;
    fclose(file);
    while (!strcmp(what, "hang"))
        pause();
    if (!strcmp(what, "crash"))
        *(volatile int *)8 = 0;
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
    static const char *names[] = { "GPU-0", "GPU-1", "MIG-1-0" };
    strncpy(text, names[device(handle)], length);
    return OK;
}

int nvmlDeviceGetName(void *handle, char *text, unsigned length) {
    (void)handle;
    strncpy(text, "Stand-in", length);
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
    run_into_trouble();
    rates[0] = device(handle) ? 0 : 70;
    rates[1] = device(handle) ? 0 : 5;
    return OK;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) {
    *milliwatts = 250500;
    return device(handle) ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius) {
    *celsius = 61;
    return device(handle) || sensor ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetClockInfo(void *handle, int which, unsigned *megahertz) {
    *megahertz = which == 1 ? 1410 : 1593;
    return device(handle) || (which != 1 && which != 2) ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetTotalEccErrors(void *handle, int uncorrected, int aggregate, u64 *count) {
    *count = uncorrected ? 1 : 3;
    return device(handle) || aggregate ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetPcieReplayCounter(void *handle, unsigned *count) {
    *count = 2;
    return device(handle) ? NOT_SUPPORTED : OK;
}

#ifndef OLDER
struct field { unsigned id, scope; long long at, latency; unsigned type; int status; u64 value; };

int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory *memory) {
    static const u64 used[] = { 800, 300, 300 };
    memory->total = (device(handle) == 2 ? 5ull : 16ull) << 30;
    memory->used = used[device(handle)] << 20;
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *handle, u64 *millijoules) {
    static u64 so_far;
    if (device(handle))
        return NOT_SUPPORTED;
    *millijoules = so_far += 1000;
    return OK;
}

int nvmlDeviceGetFieldValues(void *handle, int count, struct field *fields) {
    static u64 moved;
    if (device(handle))
        return NOT_SUPPORTED;
    moved++;
    for (int i = 0; i < count; i++) {
        fields[i].type = 3;
        fields[i].status = fields[i].id == 197 || fields[i].id == 198 ? OK : NOT_SUPPORTED;
        fields[i].value = (1ull << (fields[i].id == 197 ? 40 : 41)) + moved;
    }
    return OK;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    *current = *pending = device(handle) == 1;
    return device(handle) ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
    (void)handle;
    *count = 7;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **part) {
    if (device(handle) != 1 || index != 0)
        return NOT_FOUND;
    *part = (void *)3;
    return OK;
}
#endif

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

#ifndef OLDER
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct process *list) {
    if (device(handle)) {
        unsigned room = *count;
        *count = 1;
        if (room < 1)
            return INSUFFICIENT_SIZE;
        list[0] = (struct process){ pid_of("GPU_PART_PID_FILE", 9), 300ull << 20, 1, 0 };
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
#endif

struct value { u64 at, value; };

/* Up to 1000 when the library is opened, and 2000 later. */
static u64 samples_until = 1000;

int nvmlDeviceGetSamples(void *handle, int which, u64 seen, unsigned *type, unsigned *count,
                         struct value *list) {
    if (device(handle) || which != 1)
        return NOT_SUPPORTED;
    if (seen >= samples_until) {
        samples_until = 2000;
        return NOT_FOUND;
    }
    *type = 1;
    *count = 2;
    if (!list)
        return OK;
    list[0] = (struct value){ samples_until - 500, 40 };
    list[1] = (struct value){ samples_until, 60 };
    samples_until = 2000;
    return OK;
}

int nvmlDeviceGetProcessUtilization(void *handle, struct sample *list, unsigned *count, u64 seen) {
    if (device(handle))
        return NOT_SUPPORTED;
    if (seen >= samples_until)
        return NOT_FOUND;
    if (*count < 1) {
        *count = 1;
        return INSUFFICIENT_SIZE;
    }
    list[0] = (struct sample){ .pid = pid(), .at = 1800, .sm = 50 };
    *count = 1;
    return OK;
}
