#ifndef CARILLON_CSQLITE_SHIM_H
#define CARILLON_CSQLITE_SHIM_H

#include <sqlite3.h>

/* Only what Swift cannot import: pointers made of numbers and functions with variable arguments. */

/* SQLite copies the bytes before it returns. */
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    return sqlite3_bind_text64(statement, index, (const char *)bytes, (sqlite3_uint64)count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* The caller keeps the bytes until the parameter is bound again. */
static inline int CSQLite_bind_kept_text(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    return sqlite3_bind_text64(statement, index, (const char *)bytes, (sqlite3_uint64)count, SQLITE_STATIC, SQLITE_UTF8);
}

/* A blob of no bytes at no address would be bound as NULL. */
static inline int CSQLite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    if (count == 0)
        return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, (sqlite3_uint64)count, SQLITE_TRANSIENT);
}

/* Turns an option of a connection on or off; what it was is not asked for. */
static inline int CSQLite_db_config(sqlite3 *database, int option, int value)
{
    return sqlite3_db_config(database, option, value, (int *)0);
}

#endif
