/*
 * The reference for the record layer: the same SQL on the same kind of file, with the C functions of SQLite.
 * Prints the CPU time in microseconds per record: insert, read all, find.
 *
 *   records FILE COUNT FINDS
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct person {
    int64_t id;
    char *name, *sex;
    int64_t age, rank, votes, flags;
    double income, rating, birthdate;
    int active;
};

static sqlite3 *database;

static void die(const char *what)
{
    fprintf(stderr, "records: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql)
{
    if (sqlite3_exec(database, sql, 0, 0, 0) != SQLITE_OK)
        die(sql);
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0) != SQLITE_OK)
        die(sql);
    return statement;
}

static double cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static char *text(sqlite3_stmt *statement, int column)
{
    const unsigned char *bytes = sqlite3_column_text(statement, column);
    int count = sqlite3_column_bytes(statement, column);
    char *copy = malloc((size_t)count + 1);
    memcpy(copy, bytes, (size_t)count + 1);
    return copy;
}

static void fill(struct person *person, sqlite3_stmt *statement)
{
    person->id = sqlite3_column_int64(statement, 0);
    person->name = text(statement, 1);
    person->age = sqlite3_column_int64(statement, 2);
    person->rank = sqlite3_column_int64(statement, 3);
    person->votes = sqlite3_column_int64(statement, 4);
    person->sex = text(statement, 5);
    person->income = sqlite3_column_double(statement, 6);
    person->active = sqlite3_column_int64(statement, 7) != 0;
    person->flags = sqlite3_column_int64(statement, 8);
    person->rating = sqlite3_column_double(statement, 9);
    person->birthdate = sqlite3_column_double(statement, 10);
}

#define COLUMNS "\"name\", \"age\", \"rank\", \"votes\", \"sex\", \"income\", \"active\", \"flags\", \"rating\", \"birthdate\""

int main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments != 4) {
        fprintf(stderr, "usage: records FILE COUNT FINDS\n");
        return 64;
    }
    int64_t count = atoll(arguments[2]), finds = atoll(arguments[3]);
    if (sqlite3_open_v2(arguments[1], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0))
        die("open");
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;"
        "CREATE TABLE \"persons\" (\"objectId\" INTEGER PRIMARY KEY, \"name\" TEXT NOT NULL, \"age\" INTEGER NOT NULL,"
        " \"rank\" INTEGER NOT NULL, \"votes\" INTEGER NOT NULL, \"sex\" TEXT NOT NULL, \"income\" REAL NOT NULL,"
        " \"active\" INTEGER NOT NULL, \"flags\" INTEGER NOT NULL, \"rating\" REAL NOT NULL,"
        " \"birthdate\" REAL NOT NULL) STRICT");

    /* The records are created before the measurement, as in the Swift program. */
    struct person *people = calloc((size_t)count, sizeof *people);
    for (int64_t i = 0; i < count; i++) {
        struct person *person = &people[i];
        person->name = malloc(40);
        sprintf(person->name, "Person number %lld", (long long)i);
        person->sex = i % 2 ? "female" : "male";
        person->age = i % 100;
        person->rank = i % 10;
        person->votes = i * 7;
        person->income = (double)i * 1.25;
        person->active = i % 3 == 0;
        person->flags = i % 256;
        person->rating = (double)(i % 50) / 10;
        person->birthdate = (double)i - 1e9;
    }

    double began = cpu();
    run("BEGIN IMMEDIATE");
    sqlite3_stmt *insert = prepare("INSERT INTO \"persons\" (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    for (int64_t i = 0; i < count; i++) {
        struct person *person = &people[i];
        sqlite3_bind_text(insert, 1, person->name, (int)strlen(person->name), SQLITE_STATIC);
        sqlite3_bind_int64(insert, 2, person->age);
        sqlite3_bind_int64(insert, 3, person->rank);
        sqlite3_bind_int64(insert, 4, person->votes);
        sqlite3_bind_text(insert, 5, person->sex, (int)strlen(person->sex), SQLITE_STATIC);
        sqlite3_bind_double(insert, 6, person->income);
        sqlite3_bind_int64(insert, 7, person->active);
        sqlite3_bind_int64(insert, 8, person->flags);
        sqlite3_bind_double(insert, 9, person->rating);
        sqlite3_bind_double(insert, 10, person->birthdate);
        if (sqlite3_step(insert) != SQLITE_DONE)
            die("insert");
        sqlite3_reset(insert);
        person->id = sqlite3_last_insert_rowid(database);
    }
    run("COMMIT");
    printf("insert %.4f\n", (cpu() - began) / (double)count);

    sqlite3_stmt *read = prepare("SELECT \"objectId\", " COLUMNS " FROM \"persons\" ORDER BY \"objectId\"");
    began = cpu();
    struct person *found = malloc((size_t)count * sizeof *found);
    int64_t rows = 0;
    while (rows < count && sqlite3_step(read) == SQLITE_ROW)
        fill(&found[rows++], read);
    sqlite3_reset(read);
    printf("read %.4f\n", (cpu() - began) / (double)rows);

    sqlite3_stmt *find = prepare("SELECT \"objectId\", " COLUMNS " FROM \"persons\" WHERE \"objectId\" = ?1");
    uint64_t random = 1;
    int64_t hits = 0;
    began = cpu();
    for (int64_t i = 0; i < finds; i++) {
        struct person person;
        random = random * 6364136223846793005u + 1442695040888963407u;
        sqlite3_bind_int64(find, 1, (int64_t)(random >> 33) % count + 1);
        if (sqlite3_step(find) == SQLITE_ROW) {
            fill(&person, find);
            free(person.name);
            free(person.sex);
            hits++;
        }
        sqlite3_reset(find);
    }
    printf("find %.4f\n", (cpu() - began) / (double)finds);
    return rows == count && hits == finds ? 0 : 1;
}
