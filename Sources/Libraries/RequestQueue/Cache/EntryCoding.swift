import Foundation

/// The file of a stored response.
///
/// ```
/// magic "CRQ1" | length of head, 4 bytes | length of body, 8 bytes | head as JSON | SHA-256 of all before
/// | body | SHA-256 of the body
/// ```
///
/// A file that was cut off or changed anywhere fails one of the digests, and is read as absent.
enum EntryCoding {
    private static let magic = Array("CRQ1".utf8)
    private static let start = 16
    private static let digest = 32

    static func encode(_ stored: StoredResponse) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let head = try encoder.encode(stored.head)
        var data = Data(magic)
        data += (0..<4).map { UInt8(truncatingIfNeeded: head.count >> (24 - 8 * $0)) }
        data += (0..<8).map { UInt8(truncatingIfNeeded: stored.body.count >> (56 - 8 * $0)) }
        data += head
        data += SHA256Digest.of(data)
        data += stored.body
        data += SHA256Digest.of(stored.body)
        return data
    }

    /// Returns the response of a whole file; nil if a byte is wrong, missing or too many.
    static func decode(_ data: Data) -> StoredResponse? {
        let data = Data(data)
        guard let head = decodeHead(data), let lengths = lengths(data) else { return nil }
        let bodyStart = start + lengths.head + digest
        guard data.count == bodyStart + lengths.body + digest else { return nil }
        let body = data[bodyStart..<(bodyStart + lengths.body)]
        guard SHA256Digest.of(body).elementsEqual(data[(bodyStart + lengths.body)...]) else { return nil }
        return StoredResponse(head: head, body: Data(body))
    }

    /// Returns the head of a file, of which the body may be missing; nil if a byte of the head is wrong.
    static func decodeHead(_ data: Data) -> StoredResponse.Head? {
        let data = Data(data)
        guard let lengths = lengths(data), data.count >= start + lengths.head + digest else { return nil }
        let end = start + lengths.head
        guard SHA256Digest.of(data[..<end]).elementsEqual(data[end..<(end + digest)]) else { return nil }
        // Times beyond the year 33,000 are not those of a clock.
        guard let head = try? JSONDecoder().decode(StoredResponse.Head.self, from: data[start..<end]),
            (0...1 << 50).contains(head.requestedAt), (0...1 << 50).contains(head.receivedAt)
        else { return nil }
        return head
    }

    private static func lengths(_ data: Data) -> (head: Int, body: Int)? {
        guard data.count >= start, data.prefix(4).elementsEqual(magic) else { return nil }
        let head = data[4..<8].reduce(0) { $0 << 8 | Int($1) }
        // More than 2^40 bytes are damage, and would overflow below.
        guard data[8..<11].allSatisfy({ $0 == 0 }) else { return nil }
        return (head, data[11..<16].reduce(0) { $0 << 8 | Int($1) })
    }
}
