import CSQLite
import Glibc
import Synchronization

/// A private file that shows the content of another one until it is written, so that SQLite can use a database as if it
/// could change it.
///
/// SQLite opens the private file, which is sparse and takes no space, and makes its log and its index beside it. What
/// has not been written there is read from the original, of which this process has only a descriptor for reading: no
/// mistake can change it. The original must not change either while it is read. Each read compares its times and its
/// size with those at the beginning, and fails if they differ.
///
/// The overlay is a layer of SQLite's interface to files. It becomes the default one of this process, and leaves all
/// files alone over which no overlay was laid.
package final class FileOverlay: Sendable {
    /// The unit in which is remembered what was written. Each page of SQLite is a multiple of it.
    private static let unit: Int64 = 512

    private struct State {
        /// The end of what is read from the original.
        var limit: Int64
        /// A bit for each unit: whether it was written.
        var written: [UInt64]
        var methods: Methods?
        var hasChanged = false

        func isWritten(_ unit: Int64) -> Bool { written[Int(unit >> 6)] & 1 << UInt64(unit & 63) != 0 }

        mutating func markWritten(_ unit: Int64) {
            // What lies behind the original is never read from it.
            if unit >> 6 < written.count { written[Int(unit >> 6)] |= 1 << UInt64(unit & 63) }
        }
    }

    private let original: CInt
    private let beginning: Moment
    private let state: Mutex<State>

    /// Lays an overlay over a file: creates `path`, which must not exist, and shows the content of `original` in it.
    ///
    /// - Parameter original: A descriptor for reading. It is closed by the overlay, which lives as long as the process.
    /// - Returns: nil if the file cannot be created; `errno` has the reason.
    package static func lay(over path: String, showing original: CInt) -> FileOverlay? {
        guard let beginning = Moment(of: original) else { return nil }
        let ours = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard ours >= 0 else { return nil }
        defer { Glibc.close(ours) }
        guard ftruncate(ours, off_t(beginning.size)) == 0, let name = unsafe realpath(path, nil) else {
            return nil
        }
        defer { unsafe free(name) }
        let overlay = FileOverlay(original, beginning)
        // SQLite asks for the file by its path without links.
        Layer.table.withLock { unsafe $0.byPath[String(cString: name)] = overlay }
        Layer.install()
        return overlay
    }

    private init(_ original: CInt, _ beginning: Moment) {
        self.original = original
        self.beginning = beginning
        let units = (beginning.size + Self.unit - 1) / Self.unit
        state = Mutex(State(limit: beginning.size, written: Array(repeating: 0, count: Int((units + 63) / 64))))
    }

    deinit {
        Glibc.close(original)
    }

    /// Whether a read has found that another process changed the original.
    package var hasChanged: Bool { state.withLock { $0.hasChanged } }

    // MARK: The calls of SQLite

    fileprivate func opened(_ file: UnsafeMutablePointer<sqlite3_file>) -> Bool {
        guard let base = unsafe file.pointee.pMethods else { return false }
        return state.withLock { state in
            let methods = unsafe state.methods ?? Methods(over: base)
            guard unsafe methods.base == base else { return false }
            state.methods = methods
            unsafe file.pointee.pMethods = UnsafePointer(methods.changed)
            return true
        }
    }

    private var base: sqlite3_io_methods? {
        state.withLock { state in state.methods.map { unsafe $0.base.pointee } }
    }

    fileprivate func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, into bytes: UnsafeMutableRawPointer, count: Int32, at offset: Int64
    ) -> Int32 {
        // What was never written is zeros here, and is replaced below.
        guard let code = unsafe base?.xRead(file, bytes, count, offset) else { return ResultCode.readFailed.rawValue }
        guard code == SQLITE_OK || code == ResultCode.shortRead.rawValue else { return code }
        return state.withLock { state in
            let end = min(offset + Int64(count), state.limit)
            var start = offset
            while start < end {
                var stop = start
                while stop < end, !state.isWritten(stop / Self.unit) {
                    stop = min((stop / Self.unit + 1) * Self.unit, end)
                }
                guard stop > start else {
                    start = (start / Self.unit + 1) * Self.unit
                    continue
                }
                let target = unsafe bytes + Int(start - offset)
                let isRead = unsafe readOriginal(into: target, count: Int(stop - start), at: start)
                guard isRead else {
                    state.hasChanged = true
                    return ResultCode.readFailed.rawValue
                }
                start = stop
            }
            return code
        }
    }

    /// Returns false if the original cannot be read, or has changed.
    private func readOriginal(into bytes: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> Bool {
        var done = 0
        while done < count {
            let read = unsafe pread(original, bytes + done, count - done, off_t(offset) + done)
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { return false }
            done += read
        }
        // The kernel sets the times before it changes the content.
        return Moment(of: original) == beginning
    }

    fileprivate func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, count: Int32, at offset: Int64
    ) -> Int32 {
        // SQLite writes whole pages.
        guard Int64(count) % Self.unit == 0, offset % Self.unit == 0 else { return ResultCode.writeFailed.rawValue }
        guard let code = unsafe base?.xWrite(file, bytes, count, offset) else { return ResultCode.writeFailed.rawValue }
        if code == SQLITE_OK {
            state.withLock { state in
                for unit in offset / Self.unit..<(offset + Int64(count)) / Self.unit { state.markWritten(unit) }
            }
        }
        return code
    }

    fileprivate func truncate(_ file: UnsafeMutablePointer<sqlite3_file>?, to size: Int64) -> Int32 {
        guard let code = unsafe base?.xTruncate(file, size) else { return ResultCode.writeFailed.rawValue }
        // If the file grows again, its end is zeros and not what the original has there.
        if code == SQLITE_OK { state.withLock { $0.limit = min($0.limit, size) } }
        return code
    }

    fileprivate func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        unsafe base?.xClose(file) ?? SQLITE_OK
    }
}

/// What tells whether a file has changed.
private struct Moment: Equatable {
    let size: Int64
    private let times: [Int]

    init?(of descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
}

/// The functions of an open file: those of SQLite, four of them replaced.
@safe
private struct Methods: @unchecked Sendable {
    // Unchecked: nobody changes them, and they exist as long as the process.
    let base: UnsafePointer<sqlite3_io_methods>
    let changed: UnsafeMutablePointer<sqlite3_io_methods>

    init(over base: UnsafePointer<sqlite3_io_methods>) {
        unsafe self.base = base
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: base.pointee)
        // Version 3 has functions for files in memory, which would show the private file alone.
        unsafe changed.pointee.iVersion = min(base.pointee.iVersion, 2)
        unsafe changed.pointee.xRead = { file, bytes, count, offset in
            guard let overlay = unsafe Layer.overlay(of: file), let bytes = unsafe bytes else {
                return ResultCode.readFailed.rawValue
            }
            return unsafe overlay.read(file, into: bytes, count: count, at: offset)
        }
        unsafe changed.pointee.xWrite = { file, bytes, count, offset in
            unsafe Layer.overlay(of: file)?.write(file, bytes, count: count, at: offset)
                ?? ResultCode.writeFailed.rawValue
        }
        unsafe changed.pointee.xTruncate = { file, size in
            unsafe Layer.overlay(of: file)?.truncate(file, to: size) ?? ResultCode.writeFailed.rawValue
        }
        unsafe changed.pointee.xClose = { file in
            unsafe Layer.forget(file)?.close(file) ?? SQLITE_OK
        }
    }
}

/// The layer between SQLite and its default interface to files.
private enum Layer {
    struct Table {
        var byPath: [String: FileOverlay] = [:]
        /// By the address of the open file.
        var byFile: [UInt: FileOverlay] = [:]
    }

    static let table = Mutex(Table())

    @safe
    private struct Interface: @unchecked Sendable {
        // Unchecked: nobody changes it after it was registered.
        let base: UnsafeMutablePointer<sqlite3_vfs>?
    }

    private static let interface: Interface = {
        guard let base = unsafe sqlite3_vfs_find(nil) else { return unsafe Interface(base: nil) }
        let changed = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe changed.initialize(to: base.pointee)
        unsafe changed.pointee.zName = UnsafePointer(strdup("overlay"))
        unsafe changed.pointee.pNext = nil
        unsafe changed.pointee.xOpen = { _, name, file, flags, found in
            unsafe Layer.open(name, as: file, flags: flags, found: found)
        }
        unsafe sqlite3_vfs_register(changed, 1)
        return unsafe Interface(base: base)
    }()

    static func install() { _ = interface }

    private static func open(
        _ name: UnsafePointer<CChar>?, as file: UnsafeMutablePointer<sqlite3_file>?, flags: Int32,
        found: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let base = unsafe interface.base else { return SQLITE_CANTOPEN }
        let code = unsafe base.pointee.xOpen(base, name, file, flags, found)
        guard code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let name = unsafe name, let file = unsafe file else {
            return code
        }
        let path = unsafe String(cString: name)
        guard let overlay = table.withLock({ $0.byPath[path] }) else { return code }
        guard unsafe overlay.opened(file) else {
            unsafe _ = file.pointee.pMethods.pointee.xClose(file)
            unsafe file.pointee.pMethods = nil
            return SQLITE_CANTOPEN
        }
        table.withLock { $0.byFile[UInt(bitPattern: file)] = overlay }
        return code
    }

    static func overlay(of file: UnsafeMutablePointer<sqlite3_file>?) -> FileOverlay? {
        table.withLock { $0.byFile[UInt(bitPattern: file)] }
    }

    static func forget(_ file: UnsafeMutablePointer<sqlite3_file>?) -> FileOverlay? {
        table.withLock { $0.byFile.removeValue(forKey: UInt(bitPattern: file)) }
    }
}
