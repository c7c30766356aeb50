import PushLoop

/// A new file that only its owner can read.
package enum NewSecretFile {
    /// Creates the file with these bytes, as a whole and durably. Returns false, without changing anything, if there is a
    /// file of this name. Blocks.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(CryptoError) -> Bool {
        do throws(SystemError) {
            guard try WholeFile.create(bytes, at: path, until: .content) else { return false }
        } catch {
            throw CryptoError(.unreadableFile, message: "cannot write \(path): \(error)")
        }
        // Otherwise, a power failure could remove the only key of secrets that were sealed with it. A directory that does
        // not allow this does not make the key less useful now.
        try? FileCalls.syncDirectory(FileCalls.directory(of: path))
        return true
    }
}
