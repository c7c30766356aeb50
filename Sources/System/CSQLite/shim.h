#ifndef CARILLON_CSQLITE_SHIM_H
#define CARILLON_CSQLITE_SHIM_H

#include <sqlite3.h>

/* Wrappers of what Swift cannot import: pointers made from numbers, and variadic functions. */

/* SQLite copies the bytes before it returns. */
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    /* SQLite would bind a null pointer as NULL, also for an empty text. */
    return sqlite3_bind_text64(
        statement, index, bytes ? (const char *)bytes : "", (sqlite3_uint64)count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* SQLite does not copy: the caller keeps the bytes until the parameter is bound again. */
static inline int CSQLite_bind_kept_text(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    return sqlite3_bind_text64(statement, index, (const char *)bytes, (sqlite3_uint64)count, SQLITE_STATIC, SQLITE_UTF8);
}

/* SQLite copies the bytes before it returns. It would bind a null pointer as NULL, also for an empty blob. */
static inline int CSQLite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    if (count == 0)
        return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, (sqlite3_uint64)count, SQLITE_TRANSIENT);
}

/* SQLite does not copy: the caller keeps the bytes until the parameter is bound again. */
static inline int CSQLite_bind_kept_blob(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    if (count == 0)
        return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, (sqlite3_uint64)count, SQLITE_STATIC);
}

/* Turns an option of a connection on or off, without reading its former value. */
static inline int CSQLite_db_config(sqlite3 *database, int option, int value)
{
    return sqlite3_db_config(database, option, value, (int *)0);
}

/* Some builds of SQLite lack this function, and then its header does not declare it. */
extern void *sqlite3_preupdate_hook(sqlite3 *database,
    void (*call)(void *context, sqlite3 *database, int operation, char const *schema, char const *table,
        sqlite3_int64 old_row, sqlite3_int64 new_row),
    void *context) __attribute__((weak));

/* Returns 0 if SQLite lacks the function. A null `call` removes the hook. */
static inline int CSQLite_preupdate_hook(sqlite3 *database,
    void (*call)(void *context, sqlite3 *database, int operation, char const *schema, char const *table,
        sqlite3_int64 old_row, sqlite3_int64 new_row),
    void *context)
{
    if (!sqlite3_preupdate_hook)
        return 0;
    sqlite3_preupdate_hook(database, call, context);
    return 1;
}

/* A virtual table with a pointer for its owner. */
typedef struct CSQLite_table {
    sqlite3_vtab base;
    void *context;
} CSQLite_table;

#endif
