private import COpenSSL

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
    private static let maximumSize = 1 << 20

    /// Returns the PEM blocks of the source. Throws only `unreadableFile` or `malformedPEM`.
    func blocks() throws(CryptoError) -> [PEMBlock] {
        switch self {
        // The caller must wipe these bytes.
        case .bytes(let given): return try blocks(in: given)
        case .file(let path):
            var bytes = try BoundedFile.read(path, limit: Self.maximumSize)
            defer { wipe(&bytes) }
            return try blocks(in: bytes)
        }
    }

    private func blocks(in bytes: [UInt8]) throws(CryptoError) -> [PEMBlock] {
        guard bytes.count <= Self.maximumSize else {
            throw CryptoError(.malformedPEM, "\(name) is too large for PEM: \(bytes.count) bytes")
        }
        return try PEMBlock.parse(bytes, name: name)
    }
}

/// A PEM block, from `-----BEGIN LABEL-----` to `-----END LABEL-----`, still encoded. The text may contain a key, so it
/// is overwritten when the last copy of the block is freed.
struct PEMBlock {
    let label: String
    private let content: WipedBytes

    var text: [UInt8] { content.bytes }

    init(label: String, text: [UInt8]) {
        self.label = label
        content = WipedBytes(text)
    }

    var isCertificate: Bool {
        label == "CERTIFICATE" || label == "X509 CERTIFICATE" || label == "TRUSTED CERTIFICATE"
    }

    var isPrivateKey: Bool {
        label.hasSuffix("PRIVATE KEY")
    }

    /// Parses PEM blocks. Text outside of blocks is allowed, because many tools export it.
    static func parse(_ bytes: [UInt8], name: String) throws(CryptoError) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var open: (label: ArraySlice<UInt8>, start: Int)?
        var position = 0
        while position < bytes.count {
            let lineEnd = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let next = min(lineEnd + 1, bytes.count)
            let line = bytes[position..<lineEnd]
            if let begun = open {
                if let label = mark("-----END ", in: line) {
                    guard label == begun.label else {
                        throw CryptoError(
                            .malformedPEM,
                            "\(name): the BEGIN line \(printable(begun.label)) has the END line \(printable(label))")
                    }
                    let text = String(decoding: label, as: UTF8.self)
                    blocks.append(PEMBlock(label: text, text: Array(bytes[begun.start..<next])))
                    open = nil
                }
            } else if let label = mark("-----BEGIN ", in: line) {
                open = (label, position)
            }
            position = next
        }
        if let open {
            throw CryptoError(
                .malformedPEM, "\(name): the block \(printable(open.label)) has no END line; is the file complete?")
        }
        guard !blocks.isEmpty else {
            throw CryptoError(.malformedPEM, "\(name) is not PEM: it has no -----BEGIN line")
        }
        return blocks
    }

    private static func mark(_ start: StaticString, in line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var line = line
        while let last = line.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: " ") {
            line.removeLast()
        }
        let length = start.utf8CodeUnitCount
        guard line.count > length + 5, line.suffix(5).allSatisfy({ $0 == UInt8(ascii: "-") }) else { return nil }
        let isMark = unsafe line.prefix(length).elementsEqual(
            UnsafeBufferPointer(start: start.utf8Start, count: length))
        return isMark ? line.dropFirst(length).dropLast(5) : nil
    }

    private static func printable(_ label: ArraySlice<UInt8>) -> String {
        PushTransport.printable(String(decoding: label, as: UTF8.self), limit: 40)
    }
}

/// A memory BIO, as OpenSSL's PEM functions require.
@safe
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// Creates an empty BIO for writing.
    init() {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { fatalError("out of memory") }
        unsafe pointer = bio
    }

    /// Creates a BIO for reading a copy of `bytes`.
    init(_ bytes: [UInt8]) {
        self.init()
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe _ = BIO_write(pointer, bytes.baseAddress, CInt(bytes.count))
        }
    }

    deinit {
        unsafe BIO_free(pointer)
    }

    /// The bytes written to the BIO.
    var bytes: [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        let count = unsafe COpenSSL_memory(pointer, &data)
        guard count > 0, let data = unsafe data else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: data, count: count))
    }
}

/// Bytes that are overwritten before their memory is freed.
final class WipedBytes {
    private(set) var bytes: [UInt8]

    /// Takes over the bytes. The caller must not keep a copy, because its memory would not be overwritten.
    init(_ bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    deinit {
        wipe(&bytes)
    }
}

/// Overwrites secret bytes in a way that the compiler does not optimize away. The array must be unique: a shared array
/// would be copied first.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
