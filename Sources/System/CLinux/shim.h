#ifndef CARILLON_CLINUX_SHIM_H
#define CARILLON_CLINUX_SHIM_H

/* GNU and Linux calls that Swift's Glibc module lacks. */

/*
 * The functions are declared here, since their headers need _GNU_SOURCE, which a module cannot define for itself, and
 * would give this module its own copies of system types.
 */
struct sockaddr;
extern int eventfd(unsigned int, int);
extern int accept4(int, struct sockaddr *, unsigned int *, int);
extern int getsockopt(int, int, int, void *, unsigned int *);
extern int setsockopt(int, int, int, const void *, unsigned int);
extern unsigned long pthread_self(void);
extern int pthread_setname_np(unsigned long, const char *);
extern int sched_getaffinity(int, unsigned long, void *);
extern int ioctl(int, unsigned long, ...);
extern int prctl(int, ...);
extern int mallopt(int, int);
extern int malloc_trim(unsigned long);
struct timex;
extern int adjtimex(struct timex *);
/* Under names of their own, because Swift would find two functions. */
extern int CLinux_raise(int) __asm__("raise");
extern long CLinux_write(int, const void *, unsigned long) __asm__("write");

enum { CLINUX_NONBLOCK = 04000, CLINUX_CLOEXEC = 02000000, CLINUX_IPPROTO_TCP = 6, CLINUX_TCP_NODELAY = 1, CLINUX_TCP_INFO = 11, CLINUX_SIOCOUTQ = 0x5411 };
enum { CLINUX_PR_SET_DUMPABLE = 4, CLINUX_PR_GET_NAME = 16 };

/* Returns 1 if a time service keeps the clock, 0 if none does, and -1 if that is unknown. Nothing is set. */
static inline int CLinux_clock_is_synchronized(void)
{
    /* Larger than struct timex, whose first member, the changes to make, is 0. */
    long facts[64] = { 0 };
    int state = adjtimex((struct timex *)facts);
    return state < 0 ? -1 : state != 5 /* TIME_ERROR */;
}

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

/* Returns the number of bytes that were sent and not acknowledged by the peer; negative if it is unknown. */
static inline int CLinux_unacknowledged(int descriptor)
{
    int count = 0;
    return ioctl(descriptor, CLINUX_SIOCOUTQ, &count) < 0 ? -1 : count;
}

/* A packet filter of a socket, as in linux/filter.h. The kernel runs it before the socket receives the packet. */
struct CLinux_filter_step { unsigned short code; unsigned char if_true, if_false; unsigned int value; };
struct CLinux_filter { unsigned short count; const struct CLinux_filter_step *steps; };

enum { CLINUX_SOL_SOCKET = 1, CLINUX_SO_ATTACH_FILTER = 26 };

/* Makes a TCP socket, and those that it accepts later, ignore resets. Byte 13 of a TCP header contains its flags. */
static inline int CLinux_ignore_resets(int descriptor)
{
    static const struct CLinux_filter_step steps[] = {
        { 0x30 /* load a byte */, 0, 0, 13 },
        { 0x45 /* has it any of these bits? */, 0, 1, 0x04 },
        { 0x06 /* return */, 0, 0, 0 },
        { 0x06, 0, 0, 0xffffffff },
    };
    struct CLinux_filter filter = { sizeof steps / sizeof *steps, steps };
    return setsockopt(descriptor, CLINUX_SOL_SOCKET, CLINUX_SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* Makes a socket receive all packets again. */
static inline int CLinux_receive_everything(int descriptor)
{
    static const struct CLinux_filter_step steps[] = { { 0x06, 0, 0, 0xffffffff } };
    struct CLinux_filter filter = { 1, steps };
    return setsockopt(descriptor, CLINUX_SOL_SOCKET, CLINUX_SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* Makes a socket receive no packets, as if they were lost: new peers of a listening socket wait, and no more data
   arrives on a connection. */
static inline int CLinux_receive_nothing(int descriptor)
{
    static const struct CLinux_filter_step steps[] = { { 0x06, 0, 0, 0 } };
    struct CLinux_filter filter = { 1, steps };
    return setsockopt(descriptor, CLINUX_SOL_SOCKET, CLINUX_SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* Returns the number of bytes that a TCP connection has received; -1 if the kernel does not count them. The value is
   tcpi_bytes_received, at byte 128 of struct tcp_info in linux/tcp.h; the C library's struct is shorter. */
static inline long long CLinux_bytes_received(int descriptor)
{
    unsigned long long info[17];
    unsigned int size = sizeof info;
    if (getsockopt(descriptor, CLINUX_IPPROTO_TCP, CLINUX_TCP_INFO, info, &size) < 0 || size < sizeof info)
        return -1;
    return (long long)info[16];
}

static inline int CLinux_name_thread(const char *name)
{
    return pthread_setname_np(pthread_self(), name);
}

/* What this thread has begun last, and the last HTTP request of any thread: texts that are never freed, or null. One
   Swift file uses them, since each object file that does has its own. */
static inline const char *volatile *CLinux_own_work(void)
{
    static _Thread_local const char *volatile text = 0;
    return &text;
}

static inline const char **CLinux_last_request(void)
{
    static const char *text = 0;
    return &text;
}

static inline void CLinux_note_work(const char *text)
{
    *CLinux_own_work() = text;
}

static inline void CLinux_note_request(const char *text)
{
    *CLinux_own_work() = text;
    __atomic_store_n(CLinux_last_request(), text, __ATOMIC_RELAXED);
}

static inline unsigned long CLinux_append(char *line, unsigned long length, unsigned long room, const char *text)
{
    while (*text && length < room)
        line[length++] = *text++;
    return length;
}

/* Writes one sentence about the signal that ends the process to standard error, and lets it end. It is called in the
   handler of the signal, and only makes calls that are allowed there. The handler must have been reset, so that the
   signal, which is held back until the handler returns, then has its former effect. */
static inline void CLinux_report_end(int number)
{
    char line[512], name[17] = { 0 }, digits[3] = { (char)('0' + number / 10), (char)('0' + number % 10), 0 };
    const unsigned long room = sizeof line - 1;
    const char *own = *CLinux_own_work(), *last = __atomic_load_n(CLinux_last_request(), __ATOMIC_RELAXED);
    const char *word = number == 4 ? "SIGILL" : number == 5 ? "SIGTRAP" : number == 6 ? "SIGABRT"
        : number == 7 ? "SIGBUS" : number == 8 ? "SIGFPE" : "SIGSEGV";
    prctl(CLINUX_PR_GET_NAME, (unsigned long)name, 0UL, 0UL, 0UL);
    unsigned long length = CLinux_append(line, 0, room, "carillon: the process ends by signal ");
    length = CLinux_append(line, length, room, number < 10 ? digits + 1 : digits);
    length = CLinux_append(line, length, room, " (");
    length = CLinux_append(line, length, room, word);
    length = CLinux_append(line, length, room, ") in the thread ");
    length = CLinux_append(line, length, room, name);
    if (own) {
        length = CLinux_append(line, length, room, ", which began last: ");
        length = CLinux_append(line, length, room, own);
    }
    if (last && last != own) {
        length = CLinux_append(line, length, room, "; the last HTTP request was ");
        length = CLinux_append(line, length, room, last);
    }
    length = CLinux_append(line, length, room, "; report this as a bug\n");
    CLinux_write(2, line, length);
    CLinux_raise(number);
}

/* Sets PR_SET_DUMPABLE to 0: the process writes no core dumps, not even to a pipe, which ignores the limit, and other
   processes of this user cannot read its memory. */
static inline int CLinux_keep_memory_private(void)
{
    return prctl(CLINUX_PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}

/* Sets M_MMAP_THRESHOLD (malloc.h): allocations of at least this size get pages of their own, which are returned to the
   system when they are freed. */
static inline void CLinux_map_allocations_from(int bytes)
{
    mallopt(-3, bytes);
}

/* Sets M_TRIM_THRESHOLD (malloc.h): a heap keeps up to this many free bytes at its end. */
static inline void CLinux_keep_free_at_end(int bytes)
{
    mallopt(-1, bytes);
}

/* Returns free pages within the heaps to the system. */
static inline void CLinux_return_free_memory(void)
{
    malloc_trim(0);
}

/* Returns the number of processors that this process may run on; 0 if it is unknown. */
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
