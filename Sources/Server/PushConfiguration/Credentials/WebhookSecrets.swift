import FoundationEssentials
import PushTransport

/// The secrets that sign the requests of a webhook: lines of `whsec_` and base64, as Standard Webhooks has them.
package struct WebhookSecrets: Sendable {
    private static let mark = "whsec_"
    private static let lengths = 24...64
    /// The length of a new secret.
    private static let usualLength = 32
    /// Enough for two lines with comments around them; a larger file is something else.
    private static let maxBytes = 4096

    /// One or two, the new one first.
    package let keys: [[UInt8]]

    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads a file. It blocks.
    package init(file: String) throws {
        let bytes = try BoundedFile.read(file, limit: Self.maxBytes)
        guard bytes.count <= Self.maxBytes else { throw Fault(description: "\(file) is too large for secrets") }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map { $0.trimmingWhitespace }.filter { !$0.isEmpty }
        guard (1...2).contains(lines.count) else {
            throw Fault(description: "\(file) has \(lines.count) lines; one or two secrets are expected, one a line")
        }
        // A fault never repeats the line.
        keys = try lines.map { line in
            guard line.hasPrefix(Self.mark), let data = Data(base64Encoded: String(line.dropFirst(Self.mark.count))),
                Self.lengths.contains(data.count)
            else {
                throw Fault(
                    description: "\(file) has a line that is not whsec_ and 24 to 64 bytes in base64; 'carillon keys "
                        + "webhook FILE' makes such a file")
            }
            return [UInt8](data)
        }
    }

    /// Returns a new secret as a line of text.
    package static func new() -> String {
        mark + Data(SecureRandom.bytes(usualLength)).base64EncodedString() + "\n"
    }

    /// Returns the value of `webhook-signature`: the signature by each secret.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return keys.map { key in
            let digest = HMACSHA256.authenticate(signed, key: key)
            return "v1," + Data(digest.bytes).base64EncodedString()
        }.joined(separator: " ")
    }
}

extension Substring {
    fileprivate var trimmingWhitespace: Substring {
        var text = self
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
