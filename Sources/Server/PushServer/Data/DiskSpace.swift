import Glibc
import PushLoop

/// The space of the file system that holds the data directory.
///
/// A file system that hangs must not delay a scrape. A scrape therefore shows the last known numbers and starts the
/// next reading in a pool. One reading runs at a time.
final class DiskSpace: Sendable {
    struct Bytes: Sendable, Equatable {
        /// The bytes that a process without privileges may still write.
        let available: UInt64
        let size: UInt64
    }

    private struct State {
        var last: Bytes?
        var isReading = false
    }

    private let directory: String
    private let files: BlockingPool
    private let state = Locked(State())

    init(of directory: String, files: BlockingPool, in registry: MetricsRegistry) {
        self.directory = directory
        self.files = files
        registry.computedGauge(
            "carillon_disk_available_bytes", help: "Bytes that can be written to the file system of the data directory."
        ) { [state] in state.withLock { $0.last }.map { Double($0.available) } ?? .nan }
        registry.computedGauge(
            "carillon_disk_size_bytes", help: "Size of the file system of the data directory."
        ) { [state] in state.withLock { $0.last }.map { Double($0.size) } ?? .nan }
    }

    /// The last known numbers; nil before the first reading has ended.
    var last: Bytes? { state.withLock { $0.last } }

    /// Starts a reading, unless one runs already. It returns at once.
    func refresh() {
        let isFree = state.withLock { exchange(&$0.isReading, with: true) == false }
        if isFree { Task { await read() } }
    }

    /// Reads the numbers.
    func read() async {
        let read = try? await files.run { [directory] in Self.bytes(of: directory) }
        state.withLock { state in
            state.isReading = false
            // After a failure, the last numbers would mislead.
            state.last = read ?? nil
        }
    }

    static func bytes(of directory: String) -> Bytes? {
        var found = statvfs()
        guard unsafe statvfs(directory, &found) == 0 else { return nil }
        let unit = UInt64(found.f_frsize)
        return Bytes(
            available: UInt64(found.f_bavail).multipliedReportingOverflow(by: unit).partialValue,
            size: UInt64(found.f_blocks).multipliedReportingOverflow(by: unit).partialValue)
    }
}
