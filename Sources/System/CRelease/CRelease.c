#include "CRelease.h"

/* Package.swift defines CARILLON_COMMIT if the environment has it. Only this file depends on it, so that another commit
   compiles one file and links again. */
#ifndef CARILLON_COMMIT
#define CARILLON_COMMIT unknown
#endif

#define CRELEASE_TEXT_OF(name) #name
#define CRELEASE_TEXT(name) CRELEASE_TEXT_OF(name)

const char *CRelease_commit(void)
{
    return CRELEASE_TEXT(CARILLON_COMMIT);
}
