#ifndef CARILLON_CPOSTGRESQL_SHIM_H
#define CARILLON_CPOSTGRESQL_SHIM_H

/*
 * libpq is loaded at its first use and never linked: a node that keeps its data in SQLite needs no libpq, and does not
 * load it. The header is included for types only. A call of a function that it declares would not link.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

/* All functions of libpq that Carillon calls. Version 14 of libpq introduced the newest of them. */
#define CPOSTGRESQL_FUNCTIONS(use) \
    use(PQconnectStartParams) use(PQconnectPoll) use(PQfinish) use(PQstatus) use(PQsocket) use(PQerrorMessage) \
    use(PQsetnonblocking) use(PQsetNoticeReceiver) use(PQenterPipelineMode) use(PQpipelineSync) \
    use(PQsendPrepare) use(PQsendQueryPrepared) use(PQsendQueryParams) use(PQflush) use(PQconsumeInput) use(PQisBusy) \
    use(PQgetResult) use(PQclear) use(PQresultStatus) use(PQresultErrorField) use(PQresultErrorMessage) use(PQntuples) \
    use(PQnfields) use(PQfname) use(PQftype) use(PQfformat) use(PQgetisnull) use(PQgetlength) use(PQgetvalue) \
    use(PQcmdTuples) use(PQsslInUse) use(PQsslStruct) use(PQbackendPID) use(PQlibVersion)

struct CPostgreSQL_functions {
#define CPOSTGRESQL_FIELD(name) __typeof__(name) *name;
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_FIELD)
#undef CPOSTGRESQL_FIELD
    /* The function of the OpenSSL that libpq uses; null if libpq uses none. */
    int (*SSL_pending)(const void *);
};

/* Loads the library and fills the table. Returns 0 and writes the reason if the library or a function is missing. */
static inline int CPostgreSQL_load(
    const char *name, struct CPostgreSQL_functions *functions, char *reason, size_t size)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        snprintf(reason, size, "%s", text ? text : "unknown error");
        return 0;
    }
#define CPOSTGRESQL_FIND(function) \
    functions->function = (__typeof__(function) *)dlsym(library, #function); \
    if (!functions->function) { \
        snprintf(reason, size, "it lacks the function %s", #function); \
        dlclose(library); \
        return 0; \
    }
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_FIND)
#undef CPOSTGRESQL_FIND
    functions->SSL_pending = (int (*)(const void *))dlsym(library, "SSL_pending");
    return 1;
}

/* Returns the number of decrypted bytes that libpq has not read. The descriptor is not readable for these bytes. */
static inline int CPostgreSQL_pending(const struct CPostgreSQL_functions *functions, PGconn *connection)
{
    void *tls;
    if (!functions->SSL_pending || !functions->PQsslInUse(connection))
        return 0;
    tls = functions->PQsslStruct(connection, "OpenSSL");
    return tls ? functions->SSL_pending(tls) : 0;
}

/* The fields of errors and notices. They are characters, which Swift does not import as such. */
enum {
    CPOSTGRESQL_SEVERITY = PG_DIAG_SEVERITY_NONLOCALIZED,
    CPOSTGRESQL_SQLSTATE = PG_DIAG_SQLSTATE,
    CPOSTGRESQL_MESSAGE = PG_DIAG_MESSAGE_PRIMARY,
    CPOSTGRESQL_HINT = PG_DIAG_MESSAGE_HINT,
    CPOSTGRESQL_CONSTRAINT = PG_DIAG_CONSTRAINT_NAME,
    CPOSTGRESQL_FUNCTION = PG_DIAG_SOURCE_FUNCTION,
};

#endif
