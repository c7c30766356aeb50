import Glibc
import PushLoop

/// The system calls of a spool.
enum SpoolFile {
    static func path(_ first: UInt64, in directory: String) -> String {
        let digits = String(first, radix: 16)
        return "\(directory)/\(String(repeating: "0", count: max(0, 16 - digits.count)))\(digits).spool"
    }

    /// Returns the numbers of the files, ascending.
    static func numbers(in directory: String) throws(ClientError) -> [UInt64] {
        guard let stream = unsafe opendir(directory) else {
            throw .spool("cannot list \(directory): \(SystemError.current)")
        }
        defer { unsafe closedir(stream) }
        var numbers: [UInt64] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            // A sign or an upper-case digit would be read as the number of another file.
            guard let number = UInt64(name.prefix(16), radix: 16), (1...SpoolRecord.maxNumber).contains(number),
                path(number, in: directory) == "\(directory)/\(name)"
            else { continue }
            numbers.append(number)
        }
        return numbers.sorted()
    }

    /// Returns the end of the last whole record, the number of that record, and the size; nil if the file is not
    /// readable. If whole records may follow that cannot be found, the end is the size, and they count as one.
    static func scan(
        _ path: String, first: UInt64, visit: (SpoolRecord) -> Void
    ) -> (end: Int64, last: UInt64, size: Int64, hasHiddenEnd: Bool)? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let size = Int64(lseek(descriptor, 0, SEEK_END))
        var reader = SpoolReader(descriptor, from: 0, number: first, size: size)
        var last: UInt64 = 0
        while true {
            switch reader.next() {
            case .record(let record):
                last = record.number
                visit(record)
            case .damaged: break
            case .failed: return nil
            case .gaveUp: return (size, reader.number, size, true)
            case .broken, .end: return (reader.offset, last, size, false)
            }
        }
    }

    static func cut(_ path: String, to length: Int64) throws(ClientError) {
        guard unsafe truncate(path, off_t(length)) == 0 else {
            throw .spool("cannot cut off the damaged end of \(path): \(SystemError.current)")
        }
    }

    /// Removes a file whose messages are all acknowledged. One that had damaged messages is kept for people, under a
    /// name that is not read again.
    static func remove(_ path: String, isDamaged: Bool) {
        if isDamaged { unsafe rename(path, "\(path).damaged") } else { unsafe unlink(path) }
    }

    // MARK: Removed files

    /// The name of the file with the numbers of messages after the cursor whose files are removed.
    private static let removedName = "removed"

    /// Returns the numbers, ascending; none if the file is missing or damaged.
    static func readRemoved(in directory: String) -> [ClosedRange<UInt64>] {
        let bytes = DiskFile.read("\(directory)/\(removedName)", from: 0, count: 64 << 20)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let checksum = lines.first.flatMap({ UInt32($0, radix: 16) }) else { return [] }
        var removed: [ClosedRange<UInt64>] = []
        for line in lines.dropFirst() {
            let words = line.split(separator: " ").map { UInt64($0) }
            guard words.count == 2, let first = words[0], let last = words[1], first <= last,
                (removed.last?.upperBound ?? 0) < first, last <= SpoolRecord.maxNumber
            else { return [] }
            removed.append(first...last)
        }
        return SpoolRecord.checksum(of: text(removed)) == checksum ? removed : []
    }

    /// Replaces the numbers. They are on disk before the files are removed: a gap that nothing explains counts as lost.
    /// Returns why that failed.
    static func writeRemoved(_ removed: [ClosedRange<UInt64>], in directory: String) -> String? {
        let bytes = text(removed)
        let checksum = Array("\(String(SpoolRecord.checksum(of: bytes), radix: 16))\n".utf8)
        let path = "\(directory)/\(removedName)"
        do throws(SystemError) {
            try WholeFile.write(checksum + bytes, to: path, until: .name)
            return nil
        } catch {
            return "\(path): \(error)"
        }
    }

    private static func text(_ numbers: [ClosedRange<UInt64>]) -> [UInt8] {
        numbers.flatMap { Array("\($0.lowerBound) \($0.upperBound)\n".utf8) }
    }

    // MARK: Version

    /// The version of the files of a spool. A spool without the file `version` has version 1, whose records have no time.
    static let version = 2

    /// Marks the spool with this version, which earlier ones of this library do not read. Throws an error if a later one
    /// has written the spool.
    static func takeVersion(in directory: String) throws(ClientError) {
        let bytes = DiskFile.read("\(directory)/version", from: 0, count: 20)
        let text = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map { String($0) }
        let found = text.map { Int($0) } ?? 1
        guard let found, found <= version else {
            throw .spool(
                "\(directory) was written by a newer CarillonClient (version \(text ?? "")); use that version, or "
                    + "another directory")
        }
        guard found < version else { return }
        do throws(SystemError) {
            try WholeFile.write(Array("\(version)\n".utf8), to: "\(directory)/version", until: .name)
        } catch {
            throw .spool("cannot write \(directory)/version: \(error)")
        }
    }

    // MARK: Cursor

    static func readCursor(_ path: String) -> UInt64? {
        let bytes = DiskFile.read(path, from: 0, count: 64)
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard words.count == 2, let number = UInt64(words[0]), let checksum = UInt32(words[1], radix: 16),
            checksum == SpoolRecord.checksum(of: Array(words[0].utf8)), number <= SpoolRecord.maxNumber
        else { return nil }
        return number
    }

    /// Replaces the cursor by renaming. It is not synced: an old or unreadable cursor costs messages that are sent
    /// again.
    static func writeCursor(_ number: UInt64, to path: String) {
        let digits = String(number)
        let text = "\(digits) \(String(SpoolRecord.checksum(of: Array(digits.utf8)), radix: 16))\n"
        try? WholeFile.write(Array(text.utf8), to: path, until: .process)
    }
}
