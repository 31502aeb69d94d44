/* Loaded before the C library (LD_PRELOAD): gives a process a wrong clock, and name servers that fail. CHAOS_CONTROL names
   a file of two numbers, which may change while the process runs: by how many seconds the clock is wrong, and what becomes of
   names. Only the time of day is wrong: what measures how long something takes is not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WELL, FAILS, HANGS };

/* The name of the server. */
static const char NAME[] = "redis.chaos";

struct control {
    volatile int64_t wrong_by;
    volatile int64_t names;
};

static const struct control *control(void) {
    static const struct control nothing;
    static const struct control *known;
    const char *path = getenv("CHAOS_CONTROL");
    int file;
    void *mapped;
    if (known || !path)
        return known ? known : &nothing;
    file = open(path, O_RDONLY | O_CLOEXEC);
    mapped = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    known = mapped == MAP_FAILED ? &nothing : mapped;
    return known;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += control()->wrong_by;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
    resolver *real;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, NAME) != 0)
        return real(name, service, hints, found);
    /* As long as systems wait for their name servers. */
    for (int tenths = 0; control()->names == HANGS && tenths < 100; tenths++)
        usleep(100000);
    return control()->names == WELL ? real("127.0.0.1", service, hints, found) : EAI_AGAIN;
}
