/*
 * Kills a process at a chosen step. Loaded by LD_PRELOAD, it counts the calls that change names in a directory or make
 * a change durable, and ends the process by SIGKILL before the call with the number KILL_BEFORE, counted from 1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>

static atomic_int steps;

static void step(void)
{
    const char *text = getenv("KILL_BEFORE");
    if (text && atomic_fetch_add(&steps, 1) + 1 == atoi(text))
        raise(SIGKILL);
}

#define AFTER_STEP(name, parameters, arguments)             \
    int name parameters                                     \
    {                                                       \
        static int (*next) parameters;                      \
        if (!next)                                          \
            next = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
        step();                                             \
        return next arguments;                              \
    }

AFTER_STEP(rename, (const char *from, const char *to), (from, to))
AFTER_STEP(mkdir, (const char *path, mode_t mode), (path, mode))
AFTER_STEP(unlink, (const char *path), (path))
AFTER_STEP(rmdir, (const char *path), (path))
AFTER_STEP(fsync, (int descriptor), (descriptor))
AFTER_STEP(fdatasync, (int descriptor), (descriptor))
