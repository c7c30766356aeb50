import FoundationEssentials
import Glibc
import PushLoop
import PushStore

/// Facts about the machine and the data directory, for `carillon doctor`. Nothing is changed. All functions block.
package enum InstallationFacts {
    /// The file system of a directory.
    package struct Disk: Sendable, Equatable {
        package var availableBytes: UInt64
        package var sizeBytes: UInt64
        package var freeInodes: UInt64
        /// 0 if the file system makes inodes as it needs them.
        package var inodes: UInt64
        package var isReadOnly: Bool

        package init(availableBytes: UInt64, sizeBytes: UInt64, freeInodes: UInt64, inodes: UInt64, isReadOnly: Bool) {
            self.availableBytes = availableBytes
            self.sizeBytes = sizeBytes
            self.freeInodes = freeInodes
            self.inodes = inodes
            self.isReadOnly = isReadOnly
        }
    }

    /// A database file, by its first bytes.
    package enum StoredFile: Sendable, Equatable {
        /// The file has this version; a new file has version 0.
        case version(Int64)
        case empty
        case damaged(String)
        case unreadable(String)
        /// The registry is of another installation than the ledger.
        case foreign(what: String, remedy: String)
    }

    /// A database of which only the other one is left.
    package enum LostFile: Sendable, Equatable {
        case ledger
        case registry
    }

    /// Returns which database is missing or empty where the other one has something. A start makes an empty one in its
    /// place.
    ///
    /// - Parameter hasRun: Whether Carillon is known to have run on the directory. Without this, a missing ledger is not a
    ///   loss: an API key may be made before the first start.
    package static func lostFile(ledger: StoredFile?, registry: StoredFile?, hasRun: Bool) -> LostFile? {
        func holdsNothing(_ file: StoredFile?) -> Bool { file == nil || file == .empty }
        if holdsNothing(registry), !holdsNothing(ledger) { return .registry }
        if holdsNothing(ledger), !holdsNothing(registry), hasRun || ledger == .empty { return .ledger }
        return nil
    }

    /// Reports a database that is missing beside the other one. It does not prevent a start: what is left is served.
    static func reportLoss(in directory: String, to log: Logger) {
        let lost = lostFile(
            ledger: storedFile("\(directory)/ledger.db"), registry: storedFile("\(directory)/registry.db"),
            hasRun: hasRun(in: directory))
        switch lost {
        case .ledger:
            log.error(
                "ledger.db is missing or empty, waiting messages and known ids are lost: stop and restore a backup")
        case .registry:
            log.error("registry.db is missing or empty, devices and API keys are lost: stop and restore a backup")
        case nil: break
        }
    }

    /// The newest version of `ledger.db` that this program can read.
    package static var newestLedger: Int64 { StoreFiles.newestLedger }

    /// Returns the facts about the file system of a directory, or of the nearest one above it that exists.
    package static func disk(of directory: String) -> Disk? {
        var path = directory
        while true {
            var found = statvfs()
            if unsafe statvfs(path, &found) == 0, let bytes = DiskSpace.bytes(of: path) {
                return Disk(
                    availableBytes: bytes.available, sizeBytes: bytes.size, freeInodes: UInt64(found.f_favail),
                    inodes: UInt64(found.f_files), isReadOnly: UInt64(found.f_flag) & UInt64(ST_RDONLY) != 0)
            }
            guard let parent = StartCheck.parent(of: path), parent != path else { return nil }
            path = parent
        }
    }

    /// Reads the header of `registry.db`, and whether it belongs to the ledger of the directory.
    package static func storedRegistry(in directory: String) -> StoredFile? {
        guard let mismatch = StoreFiles.mismatch(in: directory) else { return storedFile("\(directory)/registry.db") }
        return .foreign(what: mismatch.what, remedy: mismatch.remedy)
    }

    /// Reads the header of a database file; nil if there is no such file.
    package static func storedFile(_ path: String) -> StoredFile? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return errno == ENOENT ? nil : .unreadable("\(SystemError.current)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = unsafe read(descriptor, &header, header.count)
        // SQLite takes a file of one byte for an empty one, too.
        if count == 0 || count == 1 { return .empty }
        guard count == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) else {
            return .damaged("it does not begin like a database of SQLite")
        }
        // The user version, in the order of the network (https://www.sqlite.org/fileformat2.html).
        return .version(header[60..<64].reduce(0) { $0 << 8 | Int64($1) })
    }

    /// Returns whether the last run on a directory has left its mark.
    package static func hasRunMark(in directory: String) -> Bool {
        access("\(directory)/\(RunRecord.fileName)", F_OK) == 0
    }

    /// Returns whether Carillon has run on a directory: the last run has left its mark, or the registry has devices or
    /// has applied events.
    package static func hasRun(in directory: String) -> Bool {
        if hasRunMark(in: directory) { return true }
        let registry = RegistryMark.glance(at: "\(directory)/registry.db")
        return registry.applied > 0 || registry.hasDevices
    }

    /// Returns the process that has locked the directory; nil if none has, or if this user may not know.
    package static func holder(of directory: String) -> (id: Int32?, Void)? {
        let path = "\(directory)/\(DataLock.fileName)"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        guard count > 1 else { return (nil, ()) }
        return (Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)), ())
    }

    /// Returns the number of HTTP connections that the limit of open files of this process leaves.
    ///
    /// - Parameter wanted: The number that the configuration allows.
    package static func httpConnections(descriptors: UInt64, wanted: Int) -> Int {
        ConnectionLimits(descriptors: descriptors, http: wanted).http
    }

    /// Whether a time service keeps the clock; nil if the kernel does not say.
    package static var isClockSynchronized: Bool? { SystemClock.isSynchronized }

    /// The available and the total memory of the machine.
    package static var memory: (available: UInt64, total: UInt64)? {
        guard let text = try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8) else { return nil }
        func number(_ name: String) -> UInt64? {
            text.split(separator: "\n").first { $0.hasPrefix(name + ":") }.flatMap { line in
                line.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }
            }
        }
        guard let available = number("MemAvailable"), let total = number("MemTotal") else { return nil }
        return (available << 10, total << 10)
    }

    /// Whether the file of a running program was replaced or removed; nil if this user may not know.
    package static func isExecutableReplaced(of process: Int32) -> Bool? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/\(process)/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self).hasSuffix(" (deleted)")
    }

    /// Returns how many files a process has open, and how many it may have.
    package static func descriptors(of process: Int32) -> (open: Int, limit: Int)? {
        guard let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count,
            let limits = try? String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8),
            let line = limits.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }),
            let limit = line.dropFirst("Max open files".count).split(separator: " ").first.flatMap({ Int($0) })
        else { return nil }
        return (open, limit)
    }
}
