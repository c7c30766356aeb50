/// The source of PEM: bytes in memory, or a file whose name errors contain.
package enum PEMSource: Sendable {
    case bytes([UInt8])
    case file(String)

    package static func text(_ text: String) -> PEMSource {
        .bytes(Array(text.utf8))
    }

    /// The name of the source in errors.
    var name: String {
        switch self {
        case .bytes: "the given PEM"
        case .file(let path): path
        }
    }

    /// The maximum size of PEM input. The system's whole root bundle has a fifth of it.
    private static let maxSize = 1 << 20

    /// Returns the PEM blocks of the source. Throws only `unreadableFile` or `malformedPEM`.
    func blocks() throws(CryptoError) -> [PEMBlock] {
        switch self {
        // The caller must wipe these bytes.
        case .bytes(let given): return try blocks(in: given)
        case .file(let path):
            var bytes = try BoundedFile.read(path, limit: Self.maxSize)
            defer { wipe(&bytes) }
            return try blocks(in: bytes)
        }
    }

    private func blocks(in bytes: [UInt8]) throws(CryptoError) -> [PEMBlock] {
        guard bytes.count <= Self.maxSize else {
            throw CryptoError(.malformedPEM, message: "\(name) is too large for PEM: \(bytes.count) bytes")
        }
        return try PEMBlock.parse(bytes, name: name)
    }
}
