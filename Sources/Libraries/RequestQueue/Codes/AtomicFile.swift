package import Foundation

/// Files that are replaced as a whole, and that only their owner can read.
package enum AtomicFile {
    /// The beginning of the names of files that are being written.
    private static let temporary = "new-"

    /// Returns whether a name is that of a file that was being written.
    package static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(temporary) && UUID(uuidString: String(name.dropFirst(temporary.count))) != nil
    }

    /// Writes a file under another name in the same directory, and then renames it.
    package static func write(_ data: Data, to file: URL, isSynced: Bool = false) throws {
        let new = file.deletingLastPathComponent().appendingPathComponent("\(temporary)\(UUID().uuidString)")
        do {
            guard
                FileManager.default.createFile(atPath: new.path, contents: data, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: new.path]) }
            if isSynced {
                let handle = try FileHandle(forWritingTo: new)
                defer { try? handle.close() }
                try handle.synchronize()
            }
            guard rename(new.path, file.path) == 0 else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
            }
        } catch {
            try? FileManager.default.removeItem(at: new)
            throw error
        }
    }
}
