private import COpenSSL

/// Where PEM comes from: memory, or a file that errors name.
package enum PEMSource: Sendable {
    case bytes([UInt8])
    case file(String)

    package static func text(_ text: String) -> PEMSource {
        .bytes(Array(text.utf8))
    }

    /// How an error names it.
    var name: String {
        switch self {
        case .bytes: "the given PEM"
        case .file(let path): path
        }
    }

    /// The largest PEM that is read; the system's whole bundle of roots has a fifth of it.
    private static let maximumSize = 1 << 20

    /// The blocks in it. `unreadableFile` or `malformedPEM`, nothing else.
    func blocks() throws(CryptoError) -> [PEMBlock] {
        switch self {
        // The caller's to wipe.
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

/// One `-----BEGIN LABEL-----` … `-----END LABEL-----`, still encoded. Its text, which may be that of a key, is
/// overwritten when the last copy of the block goes.
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

    /// Text outside of blocks is allowed, as in what tools export.
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
                            "\(name): a block that begins as \(printable(begun.label)) ends as \(printable(label))")
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
                .malformedPEM, "\(name): the block \(printable(open.label)) has no end; is the file complete?")
        }
        guard !blocks.isEmpty else {
            throw CryptoError(.malformedPEM, "\(name) is not PEM: there is no -----BEGIN line in it")
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

/// A BIO over memory. OpenSSL's readers want one.
@safe
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// For writing to.
    init() {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { fatalError("out of memory") }
        unsafe pointer = bio
    }

    /// For reading a copy of `bytes`.
    init(_ bytes: [UInt8]) {
        self.init()
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe _ = BIO_write(pointer, bytes.baseAddress, CInt(bytes.count))
        }
    }

    deinit {
        unsafe BIO_free(pointer)
    }

    /// What was written to it.
    var bytes: [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        let count = unsafe COpenSSL_memory(pointer, &data)
        guard count > 0, let data = unsafe data else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: data, count: count))
    }
}

/// Bytes that are overwritten before their memory is given back.
final class WipedBytes {
    private(set) var bytes: [UInt8]

    /// The caller keeps no copy of the bytes: another copy's memory would not be overwritten.
    init(_ bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    deinit {
        wipe(&bytes)
    }
}

/// Overwrites what was secret, in a way that the compiler does not optimise away. Only where nobody else holds a copy: an
/// array that is shared is copied before it is changed.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
