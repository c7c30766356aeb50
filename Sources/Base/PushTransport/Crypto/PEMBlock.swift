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
                            message: "\(name): the BEGIN line \(printable(begun.label)) has the END line "
                                + "\(printable(label))")
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
                .malformedPEM,
                message: "\(name): the block \(printable(open.label)) has no END line; is the file complete?")
        }
        guard !blocks.isEmpty else {
            throw CryptoError(.malformedPEM, message: "\(name) is not PEM: it has no -----BEGIN line")
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
