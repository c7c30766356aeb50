import CSQLite

/// The version of SQLite, as the loaded library reports it.
package enum SQLiteLibrary {
    package static var version: String { unsafe String(cString: sqlite3_libversion()) }
}
