#ifndef CARILLON_CRELEASE_H
#define CARILLON_CRELEASE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the commit of the sources that Tools/package built; "unknown" for any other build. */
const char *CRelease_commit(void);

#ifdef __cplusplus
}
#endif

#endif
