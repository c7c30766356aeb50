import Glibc
package import PushLoop
package import PushModel
import PushWire

/// A file with the feedback that the sink has not taken yet. Reading clears the list on the server, so this file is the
/// only copy.
///
/// Records are appended and synced before they are passed to the sink. The file is removed when the sink has taken all
/// of them. An incomplete last record, left by a crash, is ignored and cut off before the next append. Only one caller
/// may use the spool at a time.
package final class FeedbackSpool: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let message: String

        package var description: String { message }
    }

    /// The number of bytes in one read.
    private static let pieceSize = 256 * 1024

    package let path: String
    private let directory: String
    private let pool: BlockingPool
    private let limit: Int
    /// The size of the complete records in bytes; nil until the file was read.
    private let size = Locked<Int?>(nil)

    /// - Parameter limit: the maximum size in bytes; an append beyond it throws. Default 64 MiB, more than a million
    ///   tuples.
    package init(directory: String, app: AppID, pool: BlockingPool, limit: Int = 64 << 20) {
        self.directory = directory
        path = "\(directory)/feedback-\(app.name).spool"
        self.pool = pool
        self.limit = limit
    }

    /// A part of the file: its tuples, the offset of the next part (nil at the end), and the size of an incomplete
    /// record.
    package struct Piece: Sendable, Equatable {
        package var tuples: [FeedbackTuple]
        package var next: Int?
        /// The number of bytes after the last complete record. A number larger than a record means that the file is
        /// damaged.
        package var torn: Int
    }

    /// Reads records from an offset: 0, or the `next` of the last piece.
    package func read(from offset: Int, limit: Int) async throws -> Piece {
        try await pool.run { try self.readNow(from: offset, limit: limit) }
    }

    /// Appends tuples, and returns when they are on disk.
    package func append(_ tuples: [FeedbackTuple]) async throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(tuples.count * 41)
        for tuple in tuples { FeedbackRecord.append(tuple, to: &bytes) }
        let record = bytes
        try await pool.run { try self.appendNow(record) }
    }

    /// Removes the file. Called when the sink has taken everything.
    package func clear() async throws {
        try await pool.run {
            guard unsafe unlink(self.path) == 0 || errno == ENOENT else { throw self.failure("cannot remove") }
            self.size.withLock { $0 = 0 }
        }
    }

    // MARK: On the pool

    private func readNow(from offset: Int, limit: Int) throws -> Piece {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure("cannot read") }
            size.withLock { $0 = 0 }
            return Piece(tuples: [], next: nil, torn: 0)
        }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.pieceSize)
        var count = 0
        while count < bytes.count {
            let read = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress! + count, $0.count - count, offset + count)
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw failure("cannot read") }
            if read == 0 { break }
            count += read
        }
        let reading = FeedbackRecord.read(bytes[..<count], limit: limit)
        let end = offset + reading.used
        if reading.tuples.count == limit || (!reading.isDamaged && count == Self.pieceSize) {
            return Piece(tuples: reading.tuples, next: end, torn: 0)
        }
        size.withLock { $0 = end }
        let whole = lseek(descriptor, 0, SEEK_END)
        return Piece(tuples: reading.tuples, next: nil, torn: max(0, whole - end))
    }

    private func appendNow(_ bytes: [UInt8]) throws {
        let start = try wholeSize()
        guard start + bytes.count <= limit else {
            throw Failure(
                message: "\(path) is full: \(start) of \(limit) bytes; check the log for why feedback is not processed")
        }
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("cannot write") }
        defer { Glibc.close(descriptor) }
        do {
            // Bytes of an incomplete record would make the records after them unreadable.
            guard ftruncate(descriptor, start) == 0 else { throw failure("cannot truncate") }
            var written = 0
            while written < bytes.count {
                let count = unsafe bytes.withUnsafeBytes {
                    unsafe pwrite(descriptor, $0.baseAddress! + written, $0.count - written, start + written)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure("cannot write") }
                written += count
            }
            guard fdatasync(descriptor) == 0 else { throw failure("cannot sync") }
            if start == 0 { try syncDirectory() }
        } catch {
            ftruncate(descriptor, start)
            throw error
        }
        size.withLock { $0 = start + bytes.count }
    }

    /// Returns the end of the last complete record.
    private func wholeSize() throws -> Int {
        if let known = size.withLock({ $0 }) { return known }
        var offset: Int? = 0
        while let next = offset { offset = try readNow(from: next, limit: .max).next }
        return size.withLock { $0 ?? 0 }
    }

    private func syncDirectory() throws {
        do {
            try FileCalls.syncDirectory(directory)
        } catch {
            throw Failure(message: "cannot sync the directory of \(path): \(error)")
        }
    }

    private func failure(_ what: String) -> Failure {
        Failure(message: "\(what) \(path): \(SystemError.current)")
    }
}
