#ifndef CARILLON_CSQLITE_SHIM_H
#define CARILLON_CSQLITE_SHIM_H

#include <sqlite3.h>

/* Only what Swift cannot import: pointers made of numbers and functions with variable arguments. */

/* SQLite copies the bytes before it returns. */
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    /* Text of no bytes at no address would be bound as NULL. */
    return sqlite3_bind_text64(
        statement, index, bytes ? (const char *)bytes : "", (sqlite3_uint64)count, SQLITE_TRANSIENT, SQLITE_UTF8);
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

/* The caller keeps the bytes until the parameter is bound again. */
static inline int CSQLite_bind_kept_blob(sqlite3_stmt *statement, int index, const void *bytes, long long count)
{
    if (count == 0)
        return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, (sqlite3_uint64)count, SQLITE_STATIC);
}

/* Turns an option of a connection on or off; what it was is not asked for. */
static inline int CSQLite_db_config(sqlite3 *database, int option, int value)
{
    return sqlite3_db_config(database, option, value, (int *)0);
}

/* Not every build of SQLite has this function, and its header tells of it only where it does. */
extern void *sqlite3_preupdate_hook(sqlite3 *database,
    void (*call)(void *context, sqlite3 *database, int operation, char const *schema, char const *table,
        sqlite3_int64 old_row, sqlite3_int64 new_row),
    void *context) __attribute__((weak));

/* 0: there is no such function. No call takes the hook away. */
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

/* A virtual table with something of its owner's. */
typedef struct CSQLite_table {
    sqlite3_vtab base;
    void *context;
} CSQLite_table;

#endif
