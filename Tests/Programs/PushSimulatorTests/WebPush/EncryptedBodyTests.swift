import PushTransport
import Testing

@testable import PushSimulator

@Suite struct EncryptedBodyTests {
    private static func open(_ body: [UInt8], of vector: EncryptedVector) throws -> [UInt8] {
        let key = try #require(
            AgreementKey(
                privateKey: try Sender.bytes(vector.privateKey), publicPoint: try Sender.bytes(vector.publicKey)))
        return try EncryptedBody.decrypt(body, key: key, secret: try Sender.bytes(vector.secret))
    }

    @Test("A message of another program is decrypted", arguments: [.standard] + EncryptedVector.ofHTTPECE)
    func decrypts(vector: EncryptedVector) throws {
        let text = try Self.open(try Sender.bytes(vector.body), of: vector)
        #expect(String(decoding: text, as: UTF8.self) == vector.text)
    }

    @Test("A message with one changed bit is not decrypted, wherever the bit is")
    func isAuthentic() throws {
        let body = try Sender.bytes(EncryptedVector.standard.body)
        for position in body.indices {
            // Any larger record size is allowed.
            if (16..<20).contains(position) { continue }
            var changed = body
            changed[position] ^= 0x40
            #expect(throws: EncryptedBody.Fault.self, "byte \(position)") {
                try Self.open(changed, of: .standard)
            }
        }
    }

    @Test("A message that ends early is not decrypted, wherever it ends")
    func isWhole() throws {
        let body = try Sender.bytes(EncryptedVector.standard.body)
        for count in body.indices {
            #expect(throws: EncryptedBody.Fault.self, "\(count) bytes") {
                try Self.open(Array(body[..<count]), of: .standard)
            }
        }
    }

    private static let key = try? AgreementKey.generate()
    private static let secret = [UInt8](repeating: 7, count: 16)

    private static func fault(_ change: Sender.Change, text: [UInt8] = Array("hello".utf8)) throws
        -> EncryptedBody.Fault?
    {
        let key = try #require(key)
        let body = try Sender.encrypt(text, for: key.publicPoint, secret: secret, change: change)
        do throws(EncryptedBody.Fault) {
            _ = try EncryptedBody.decrypt(body, key: key, secret: secret)
            return nil
        } catch {
            return error
        }
    }

    @Test("What is wrong with a message has a name")
    func namesFaults() throws {
        let offCurve = [4] + [UInt8](repeating: 1, count: 64)
        #expect(try Self.fault(.init()) == nil)
        #expect(try Self.fault(.init(padding: [2])) == nil)
        #expect(try Self.fault(.init(padding: [])) == .badDelimiter(UInt8(ascii: "o")))
        #expect(try Self.fault(.init(padding: [0, 0]), text: []) == .noDelimiter)
        #expect(try Self.fault(.init(padding: [1, 0])) == .notLast)
        #expect(try Self.fault(.init(padding: [3])) == .badDelimiter(3))
        #expect(try Self.fault(.init(recordSize: 17)) == .recordSize(17))
        #expect(try Self.fault(.init(recordSize: 0)) == .recordSize(0))
        #expect(try Self.fault(.init(recordSize: 24)) == .severalRecords(size: 24, received: 25))
        #expect(try Self.fault(.init(recordSize: 25)) == nil)
        #expect(try Self.fault(.init(recordSize: .max)) == nil)
        #expect(try Self.fault(.init(keyID: offCurve)) == .badPoint)
        #expect(try Self.fault(.init(keyID: [2] + offCurve.dropFirst())) == .badPoint)
        #expect(try Self.fault(.init(keyID: [])) == .keyLength(0))
        #expect(try Self.fault(.init(keyID: Array(offCurve.prefix(64)))) == .keyLength(64))
        #expect(try Self.fault(.init(keyID: offCurve + [0])) == .keyLength(66))
        #expect(try Self.fault(.init(keyID: try AgreementKey.generate().publicPoint)) == .notAuthentic)
    }

    @Test("A key is refused if its parts do not belong together")
    func checksKeys() throws {
        let vector = EncryptedVector.standard
        let privateKey = try Sender.bytes(vector.privateKey)
        let point = try Sender.bytes(vector.publicKey)
        #expect(AgreementKey(privateKey: privateKey, publicPoint: point) != nil)
        #expect(AgreementKey(privateKey: privateKey, publicPoint: try AgreementKey.generate().publicPoint) == nil)
        #expect(AgreementKey(privateKey: Array(privateKey.dropLast()), publicPoint: point) == nil)
        #expect(AgreementKey(privateKey: privateKey, publicPoint: Array(point.dropLast())) == nil)
        #expect(AgreementKey(privateKey: [UInt8](repeating: 255, count: 32), publicPoint: point) == nil)
        #expect(AgreementKey(privateKey: [UInt8](repeating: 0, count: 32), publicPoint: point) == nil)
    }
}
