import Glibc

/// A small file that is replaced as a whole: a reader finds the earlier content or the new one, and nothing in between.
package enum ReplacedFile {
    /// What is on disk when `write` returns, and thus survives a power failure.
    package enum Durability: Sendable {
        /// Nothing is. The file survives the end of the process.
        case process
        /// The content is. After a power failure, the name may still lead to the earlier file.
        case content
        /// The content and its name are.
        case name
    }

    /// Writes the bytes to `path` with the suffix `.new`, readable only by their owner, and then renames that file. If a
    /// call fails, the earlier file stays, and `.new` is removed. Blocks.
    ///
    /// - Parameter prepare: Changes the open file before it gets its name.
    package static func write(
        _ bytes: [UInt8], to path: String, until durability: Durability, prepare: (CInt) -> Void = { _ in }
    ) throws(SystemError) {
        let draft = "\(path).new"
        // A process that was killed may have left it. A link is removed, not followed.
        unsafe unlink(draft)
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .current }
        do throws(SystemError) {
            defer { close(descriptor) }
            prepare(descriptor)
            try FileCalls.write(bytes, to: descriptor)
            if durability != .process { try FileCalls.sync(descriptor) }
            if unsafe rename(draft, path) != 0 { throw .current }
        } catch {
            unsafe unlink(draft)
            throw error
        }
        if durability == .name { try FileCalls.syncDirectory(FileCalls.directory(of: path)) }
    }
}
