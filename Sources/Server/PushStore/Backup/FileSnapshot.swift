import PushSQLite

/// One state of a database file, while another process writes it.
///
/// Neither this process nor the file changes anything for the writer, except that its write-ahead log grows until the
/// snapshot is closed.
package final class FileSnapshot {
    package let path: String
    private let database: DatabaseHandle

    /// The number of pages that are copied without a pause.
    private static let pagesAtOnce: Int32 = 64
    /// The number of milliseconds for which the file may be locked.
    private static let patience: Int32 = 5000

    /// Takes the state as of now.
    package init(of path: String) throws(StoreError) {
        self.path = path
        do {
            database = try DatabaseHandle(path: path, mode: .readOnly)
            database.setBusyTimeout(milliseconds: Self.patience)
            database.set(.keepsLogAtClose, to: true)
            database.set(.defensive, to: true)
            database.set(.trustedSchema, to: false)
            // The first read picks the state, not BEGIN.
            try database.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
        } catch {
            throw StoreError(error, reading: path)
        }
    }

    /// Copies the state into a new file. Returns false if `mayContinue` stopped it.
    ///
    /// - Parameter mayContinue: Called before each step with the number of bytes that were copied, and that of all; it
    ///   may wait.
    package func copy(
        to target: String, while mayContinue: (_ copied: Int, _ all: Int) -> Bool
    ) throws(StoreError) -> Bool {
        let size = try pageSize()
        do {
            let copy = try DatabaseHandle(path: target, mode: .readWrite(creates: true))
            // The directory of the copy becomes a backup only when all files are synced.
            try copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
            return try database.backUp(into: copy, pagesAtOnce: Self.pagesAtOnce) { progress in
                mayContinue(progress.copiedPages * size, progress.pages * size)
            }
        } catch {
            throw StoreError(error, copying: path, to: target)
        }
    }

    private func pageSize() throws(StoreError) -> Int {
        do {
            let statement = try database.prepare("PRAGMA page_size")
            return try statement.step() ? Int(clamping: statement.integer(0)) : 4096
        } catch {
            throw StoreError(error, reading: path)
        }
    }

    /// Turns a copy of a database file, and of its write-ahead log if there is one, into a file that needs no other one
    /// and that can be read on a medium that is read-only.
    package static func settle(_ path: String) throws(StoreError) {
        do {
            let copy = try DatabaseHandle(path: path, mode: .readWrite(creates: false))
            defer { copy.close() }
            // Without the exclusive mode, SQLite would make a file of shared memory.
            try copy.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE")
        } catch {
            throw StoreError(error, copying: path, to: path)
        }
    }

    /// Returns the problems of a file that nobody writes, as SQLite describes them; empty if there are none.
    package static func problems(of path: String) throws(StoreError) -> [String] {
        do {
            let database = try DatabaseHandle(path: path, mode: .immutable)
            defer { database.close() }
            database.set(.trustedSchema, to: false)
            let statement = try database.prepare("PRAGMA integrity_check(10)")
            var found: [String] = []
            while try statement.step() {
                found.append(unsafe statement.text(0).map { unsafe String(decoding: $0, as: UTF8.self) } ?? "")
            }
            return found == ["ok"] ? [] : found
        } catch {
            throw StoreError(error, reading: path)
        }
    }
}

extension StoreError {
    fileprivate init(_ failure: SQLiteFailure, reading path: String) {
        switch failure.primary {
        case .corrupt, .notADatabase: self.init(.damaged, "\(path) is damaged (\(failure.message))")
        case .cannotOpen, .noPermission, .notAuthorized, .readOnly:
            self.init(.cannotOpen, "cannot read \(path) (\(failure.message)); run this as the user of the server")
        case .busy, .locked, .lockingProtocol:
            self.init(.cannotOpen, "another program has locked \(path) (\(failure.message)); try again")
        default: self.init(.cannotRead, "cannot read \(path): \(failure.message)")
        }
    }

    fileprivate init(_ failure: SQLiteFailure, copying path: String, to target: String) {
        switch failure.primary {
        case .full: self.init(.full, "cannot write \(target): the disk is full; free space, or name another directory")
        case .corrupt, .notADatabase: self.init(.damaged, "\(path) is damaged (\(failure.message))")
        default: self.init(failure, doing: "copy to \(target)", path: path)
        }
    }
}
