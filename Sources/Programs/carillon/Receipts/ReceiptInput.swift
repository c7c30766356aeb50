import Glibc
import PushLoop
import PushTransport
import Receipts

/// The content of a file that a user wants to be verified.
enum ReceiptInput: Equatable {
    /// A JSON Web Signature: a transaction, renewal information, an app transaction or a notification.
    case signedData(String)
    /// An old receipt in Base64.
    case oldReceipt(String)
    /// An old receipt as it is in the bundle of an app.
    case oldReceiptInDER([UInt8])

    /// The maximum size of a file, above that of any receipt.
    private static let maxSize = 4 << 20

    /// Reads a file, or standard input if its name is `-`.
    static func read(_ path: String) throws(Failure) -> ReceiptInput {
        let bytes: [UInt8]
        do {
            bytes = try path == "-" ? BoundedFile.read(from: 0, limit: maxSize) : BoundedFile.read(path, limit: maxSize)
        } catch let error as CryptoError {
            throw Failure(.badInput, "\(error)")
        } catch {
            throw Failure(.badInput, "cannot read standard input: \(error)")
        }
        guard bytes.count <= maxSize else {
            throw Failure(.badInput, "the input has more than \(maxSize >> 20) MiB: it is not a receipt")
        }
        return try ReceiptInput(bytes)
    }

    /// Recognizes the content. White space around it does not matter.
    init(_ bytes: [UInt8]) throws(Failure) {
        // PKCS#7 in DER: a sequence whose length takes several bytes.
        if bytes.count > 2, bytes[0] == 0x30, bytes[1] >= 0x80 {
            self = .oldReceiptInDER(bytes)
            return
        }
        let text = Self.trimmed(bytes[...])
        guard let first = text.first else { throw Failure(.badInput, "the input is empty") }
        if first == UInt8(ascii: "{") {
            do {
                self = .signedData(try ServerNotification.signedPayload(in: Array(text)))
            } catch {
                throw Failure(.badInput, "\(error)")
            }
        } else if text.contains(UInt8(ascii: ".")) {
            self = .signedData(String(decoding: text, as: UTF8.self))
        } else {
            self = .oldReceipt(String(decoding: text, as: UTF8.self))
        }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}
