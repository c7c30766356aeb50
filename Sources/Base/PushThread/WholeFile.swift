import Glibc

/// A small file that is written as a whole: a reader finds the earlier file or the new one, and nothing in between.
package enum WholeFile {
    /// What is on disk when a call returns, and thus survives a power failure.
    package enum Durability: Sendable {
        /// Nothing is. The file survives the end of the process.
        case process
        /// The content is. After a power failure, the name may still lead to the earlier file.
        case content
        /// The content and its name are.
        case name
    }

    /// Who may write files of one name at the same time.
    package enum Writers: Sendable {
        /// One process, which also removes the draft that a killed one has left.
        case one
        /// Several processes, each with a draft of its own.
        case several
    }

    /// Writes the bytes to a draft beside `path`, and gives it this name. If a call fails, the earlier file stays, and
    /// the draft is removed. Blocks.
    ///
    /// - Parameters:
    ///   - isSecret: Whether only the owner can read the file.
    ///   - prepare: Changes the open file before it gets its name.
    package static func write(
        _ bytes: [UInt8], to path: String, by writers: Writers = .one, isSecret: Bool = true,
        until durability: Durability, prepare: (CInt) -> Void = { _ in }
    ) throws(SystemError) {
        let draft = draft(of: path, by: writers)
        do throws(SystemError) {
            try write(bytes, toDraft: draft, isSecret: isSecret, until: durability, prepare: prepare)
            guard unsafe rename(draft, path) == 0 else { throw .current }
        } catch {
            unsafe unlink(draft)
            throw error
        }
        if durability == .name { try FileCalls.syncDirectory(FileCalls.directory(of: path)) }
    }

    /// Does the same unless there is a file of this name. Returns whether there was none. Any number of processes may
    /// try at the same time; one of them succeeds. Blocks.
    package static func create(
        _ bytes: [UInt8], at path: String, until durability: Durability
    ) throws(SystemError) -> Bool {
        // Then nothing needs to be written; if several processes write at the same time, `link` below decides.
        if unsafe access(path, F_OK) == 0 { return false }
        let draft = draft(of: path, by: .several)
        defer { unsafe unlink(draft) }
        try write(bytes, toDraft: draft, isSecret: true, until: durability) { _ in }
        guard unsafe link(draft, path) == 0 else {
            let error = SystemError.current
            guard error.number == EEXIST else { throw error }
            return false
        }
        if durability == .name { try FileCalls.syncDirectory(FileCalls.directory(of: path)) }
        return true
    }

    /// Returns the name of the draft of a file.
    package static func draft(of path: String, by writers: Writers = .one) -> String {
        switch writers {
        case .one: "\(path).new"
        case .several: "\(path).\(getpid()).new"
        }
    }

    private static func write(
        _ bytes: [UInt8], toDraft draft: String, isSecret: Bool, until durability: Durability, prepare: (CInt) -> Void
    ) throws(SystemError) {
        // A process that was killed may have left it. A link is removed, not followed.
        unsafe unlink(draft)
        let descriptor = unsafe open(
            draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, isSecret ? 0o600 : 0o644)
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        prepare(descriptor)
        try FileCalls.write(bytes, to: descriptor)
        if durability != .process { try FileCalls.sync(descriptor) }
    }
}
