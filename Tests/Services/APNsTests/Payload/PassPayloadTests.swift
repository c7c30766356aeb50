import PushModel
import Testing

@testable import APNs
@testable import PushWire

/// The notifications of passes in Wallet, whose topic is a pass type id.
@Suite struct PassPayloadTests {
    private static func findings(_ payload: String, topic: String) throws -> String {
        let codec = APNsCodec(app: AppID("wallet")!, topic: topic, usesToken: false)
        var index = JSONIndex()
        let bytes = Array(payload.utf8)
        let text = ByteView.lending(bytes) { index.padded($0) }
        let verdict = index.read(text)
        try #require(verdict == .json)
        let found = index.values(in: text)
        let values = IndexedObject(try #require(found), at: 0)
        let options = MessageOptions(type: MessageType(PushType.alert), priority: .ten)
        let quick = try codec.findings(in: bytes, values: values, for: options)
        #expect(try codec.findings(in: bytes, values: nil, for: options) == quick)
        return String(decoding: quick, as: UTF8.self)
    }

    @Test(arguments: ["{}", #"{"aps":{}}"#, #"{"a":1}"#]) func `A pass needs no aps`(payload: String) throws {
        #expect(try Self.findings(payload, topic: "pass.com.example.ticket").isEmpty)
        #expect(try !Self.findings(payload, topic: "com.example.pass.ticket").isEmpty)
    }
}
