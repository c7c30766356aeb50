import Glibc
import PushLoop

/// The committed transactions that are behind a damaged place of a write-ahead log. SQLite does not read them, and its
/// first checkpoint removes them.
package struct LostTransactions: Sendable, Equatable {
    /// The number of transactions, at least.
    package let count: Int
    /// The bytes of their pages. What they have written is not longer.
    let bytes: Int
    /// The path of the copy of the log.
    package let copy: String

    /// Looks for such transactions of a database that nobody has opened. If there are some, copies the log beside it, so
    /// that it can be examined.
    package static func saved(of database: String) throws(StoreError) -> LostTransactions? {
        let path = database + "-wal"
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let (chain, pageSize) = Self.chain(descriptor, of: database), chain.hasLoss else { return nil }
        let copy = try copy(descriptor, of: path)
        return LostTransactions(count: chain.lostCommits, bytes: chain.lostFrames * pageSize, copy: copy)
    }

    /// Does the same, and truncates the log if there are some. What is written from now on would otherwise leave a part of
    /// them behind it, which the next start would find.
    package static func removed(from database: String) throws(StoreError) -> LostTransactions? {
        guard let lost = try saved(of: database) else { return nil }
        try SQLiteConnection(database).checkpoint(.truncate)
        return lost
    }

    /// Follows the whole log; nil if it has no frames.
    private static func chain(_ descriptor: CInt, of database: String) -> (FrameChain, pageSize: Int)? {
        var header = [UInt8](repeating: 0, count: FrameChain.headerSize)
        var head = [UInt8](repeating: 0, count: FrameChain.frameHeaderSize)
        var place = header.count
        guard read(descriptor, &header, at: 0), read(descriptor, &head, at: place) else { return nil }
        var chain = unsafe header.withUnsafeBytes { header in
            unsafe head.withUnsafeBytes { unsafe FrameChain(header, first: $0) }
        }
        let size = chain.pageSize > 0 ? chain.pageSize : pageSize(of: database)
        guard (512...65_536).contains(size), size & (size - 1) == 0 else { return nil }
        var page = [UInt8](repeating: 0, count: size)
        while read(descriptor, &head, at: place) {
            let isOwn = unsafe head.withUnsafeBytes { unsafe chain.owns($0) }
            if isOwn, !read(descriptor, &page, at: place + head.count) { break }
            unsafe head.withUnsafeBytes { head in
                unsafe page.withUnsafeBytes { page in
                    unsafe chain.add(head, page: UnsafeRawBufferPointer(rebasing: isOwn ? page[...] : page[..<0]))
                }
            }
            place += head.count + size
        }
        return (chain, size)
    }

    /// Returns the page size that the header of a database names; 0 if it cannot be read.
    private static func pageSize(of database: String) -> Int {
        let descriptor = unsafe open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var size: [UInt8] = [0, 0]
        guard read(descriptor, &size, at: 16) else { return 0 }
        let named = Int(size[0]) << 8 | Int(size[1])
        return named == 1 ? 65_536 : named
    }

    /// Fills an array from a place of a file. Returns false if the file ends before.
    private static func read(_ descriptor: CInt, _ bytes: inout [UInt8], at place: Int) -> Bool {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(place)) == buffer.count
        }
    }

    // MARK: The copy

    private static let maxCopies = 100

    private static func copy(_ descriptor: CInt, of path: String) throws(StoreError) -> String {
        for number in 1...maxCopies {
            let copy = "\(path).damaged-\(number)"
            let target = unsafe open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if target < 0, errno == EEXIST { continue }
            guard target >= 0 else { throw cannotCopy(path, to: copy) }
            defer { close(target) }
            guard copyAll(descriptor, to: target), fsync(target) == 0 else {
                let error = cannotCopy(path, to: copy)
                unsafe unlink(copy)
                throw error
            }
            return copy
        }
        throw StoreError(
            .damaged, "\(path) is damaged, and there are \(maxCopies) copies of such logs beside it; check the disk")
    }

    private static func copyAll(_ descriptor: CInt, to target: CInt) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var place = 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
            }
            guard count > 0 else { return count == 0 }
            guard unsafe buffer.withUnsafeBytes({ unsafe write(target, $0.baseAddress, count) }) == count else {
                return false
            }
            place += count
        }
    }

    private static func cannotCopy(_ path: String, to copy: String) -> StoreError {
        StoreError(
            .cannotWrite,
            "\(path) is damaged, and cannot be copied to \(copy): \(SystemError.current); make room for the copy, or move "
                + "the directory away and restore a backup")
    }
}
