#ifndef CARILLON_CLINUX_SHIM_H
#define CARILLON_CLINUX_SHIM_H

/* GNU and Linux calls that Swift's Glibc module leaves out. */

/*
 * Declared here instead of including their headers: those need _GNU_SOURCE, which a module cannot set for itself,
 * and would give this module its own copy of system types.
 */
struct sockaddr;
extern int eventfd(unsigned int, int);
extern int accept4(int, struct sockaddr *, unsigned int *, int);
extern int setsockopt(int, int, int, const void *, unsigned int);
extern unsigned long pthread_self(void);
extern int pthread_setname_np(unsigned long, const char *);
extern int sched_getaffinity(int, unsigned long, void *);
extern int ioctl(int, unsigned long, ...);

enum { CLINUX_NONBLOCK = 04000, CLINUX_CLOEXEC = 02000000, CLINUX_IPPROTO_TCP = 6, CLINUX_TCP_NODELAY = 1, CLINUX_SIOCOUTQ = 0x5411 };

static inline int CLinux_eventfd(void)
{
    return eventfd(0, CLINUX_NONBLOCK | CLINUX_CLOEXEC);
}

static inline int CLinux_accept(int descriptor, struct sockaddr *address, unsigned int *length)
{
    return accept4(descriptor, address, length, CLINUX_NONBLOCK | CLINUX_CLOEXEC);
}

static inline int CLinux_send_without_delay(int descriptor)
{
    int on = 1;
    return setsockopt(descriptor, CLINUX_IPPROTO_TCP, CLINUX_TCP_NODELAY, &on, sizeof on);
}

/* Bytes that were sent and that the peer has not acknowledged; below 0 if the system does not say. */
static inline int CLinux_unacknowledged(int descriptor)
{
    int count = 0;
    return ioctl(descriptor, CLINUX_SIOCOUTQ, &count) < 0 ? -1 : count;
}

static inline int CLinux_name_thread(const char *name)
{
    return pthread_setname_np(pthread_self(), name);
}

/* How many processors this process may run on; 0 if the system does not say. */
static inline int CLinux_core_count(void)
{
    unsigned long set[1024 / (8 * sizeof(unsigned long))] = { 0 };
    int count = 0;
    if (sched_getaffinity(0, sizeof set, set) < 0)
        return 0;
    for (unsigned i = 0; i < sizeof set / sizeof *set; i++)
        count += __builtin_popcountl(set[i]);
    return count;
}

#endif
