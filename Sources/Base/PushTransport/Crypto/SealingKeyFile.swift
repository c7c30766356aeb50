import Glibc
import PushLoop

/// The file of a ``SealingKey``: one line of Base64URL, readable only by its owner. All functions block.
///
/// This is version 1 of the file. A later version begins with `version N`, so that this one refuses it by name.
package enum SealingKeyFile {
    /// Reads the key; nil if there is no file.
    package static func read(_ path: String) throws(CryptoError) -> SealingKey? {
        var status = stat()
        if unsafe lstat(path, &status) != 0, errno == ENOENT { return nil }
        let damaged = CryptoError(
            .malformedPEM, message: "\(path) does not contain a sealing key; restore it from a backup")
        var bytes = try BoundedFile.read(path, limit: 256)
        defer { wipe(&bytes) }
        if let caution = SecretFile.cautions([path]).first { throw CryptoError(.unreadableFile, message: caution) }
        let text = String(decoding: bytes, as: UTF8.self)
        if text.hasPrefix("version ") {
            throw CryptoError(
                .malformedPEM,
                message: "\(path) was written by a newer Carillon "
                    + "(\(text.prefix(20).split(separator: "\n").first ?? "")); start the newer version")
        }
        guard text.utf8.last == 0x0a, let key = Base64URL.decode(String(text.dropLast())), let key = SealingKey(key)
        else { throw damaged }
        return key
    }

    /// Creates the file with a new key, and returns the key when the file is on disk. If another process creates it at
    /// the same time, returns the key of that process.
    package static func create(_ path: String) throws(CryptoError) -> SealingKey {
        let key = SealingKey.generate()
        var line = Array("\(key.text)\n".utf8)
        defer { wipe(&line) }
        if try !NewSecretFile.create(path, line), let other = try read(path) { return other }
        return key
    }
}
