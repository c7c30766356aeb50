import PushTransport

/// The decryption of a message for a browser (RFC 8291): one record of the encoding `aes128gcm` (RFC 8188).
enum EncryptedBody {
    /// Why a body cannot be decrypted.
    enum Fault: Error, Equatable {
        case tooShort(Int)
        case keyLength(Int)
        case badPoint
        case recordSize(UInt32)
        case severalRecords(size: UInt32, received: Int)
        case notAuthentic
        case notLast
        case noDelimiter
        case badDelimiter(UInt8)

        var text: String {
            switch self {
            case .tooShort(let count): "\(count) bytes are less than the header of aes128gcm"
            case .keyLength(let count): "the key id has \(count) bytes, and a public key has 65"
            case .badPoint: "the key id is not an uncompressed point on P-256"
            case .recordSize(let size): "the record size is \(size), and a record has at least 18 bytes"
            case .severalRecords(let size, let received):
                "the record size is \(size), but \(received) bytes follow; a push message is one record"
            case .notAuthentic: "the record does not decrypt with the keys of the subscription"
            case .notLast: "the record has the delimiter 1, which says that another one follows"
            case .noDelimiter: "the record has only padding and no delimiter"
            case .badDelimiter(let byte): "the record has the delimiter \(byte), and the last record has 2"
            }
        }
    }

    private static let saltLength = 16
    private static let headLength = saltLength + 4 + 1
    private static let minRecord: UInt32 = 18

    /// Returns the message.
    ///
    /// - Parameters:
    ///   - key: The key pair of the subscription.
    ///   - secret: Its authentication secret, 16 bytes.
    static func decrypt(_ body: [UInt8], key: AgreementKey, secret: [UInt8]) throws(Fault) -> [UInt8] {
        guard body.count >= headLength else { throw .tooShort(body.count) }
        let salt = Array(body[..<saltLength])
        let recordSize = body[saltLength..<saltLength + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let keyLength = Int(body[headLength - 1])
        guard keyLength == AgreementKey.pointLength else { throw .keyLength(keyLength) }
        let rest = body[headLength...]
        guard rest.count >= keyLength + AESGCM.tagLength + 1 else { throw .tooShort(body.count) }
        guard recordSize >= minRecord else { throw .recordSize(recordSize) }
        let point = Array(rest.prefix(keyLength))
        let record = Array(rest.dropFirst(keyLength))
        guard record.count <= Int(recordSize) else {
            throw .severalRecords(size: recordSize, received: record.count)
        }
        guard let shared = key.agree(with: point) else { throw .badPoint }
        let (contentKey, nonce) = keys(
            shared: shared, salt: salt, secret: secret, receiver: key.publicPoint, sender: point)
        guard let padded = AESGCM.open(record, key: contentKey, nonce: nonce) else { throw .notAuthentic }
        return try unpadded(padded)
    }

    /// The content encryption key and the nonce of the first record.
    private static func keys(
        shared: [UInt8], salt: [UInt8], secret: [UInt8], receiver: [UInt8], sender: [UInt8]
    ) -> (key: [UInt8], nonce: [UInt8]) {
        let info = Array("WebPush: info".utf8) + [0] + receiver + sender
        let input = expand(HMACSHA256.authenticate(shared, key: secret).bytes, info: info, count: 32)
        let extracted = HMACSHA256.authenticate(input, key: salt).bytes
        let key = expand(
            extracted, info: Array("Content-Encoding: aes128gcm".utf8) + [0], count: AESGCM.shortKeyLength)
        let nonce = expand(extracted, info: Array("Content-Encoding: nonce".utf8) + [0], count: AESGCM.nonceLength)
        return (key, nonce)
    }

    /// The step "expand" of HKDF (RFC 5869) for at most 32 bytes.
    private static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        Array(HMACSHA256.authenticate(info + [1], key: key).bytes.prefix(count))
    }

    private static func unpadded(_ record: [UInt8]) throws(Fault) -> [UInt8] {
        guard let last = record.lastIndex(where: { $0 != 0 }) else { throw .noDelimiter }
        switch record[last] {
        case 2: return Array(record[..<last])
        case 1: throw .notLast
        default: throw .badDelimiter(record[last])
        }
    }
}
