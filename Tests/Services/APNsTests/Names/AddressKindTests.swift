import PushModel
import Testing

@testable import APNs
@testable import PushWire

@Suite struct AddressKindTests {
    private static func kind(of type: PushType, _ payload: String) throws -> AddressKind {
        var index = JSONIndex()
        let text = ByteView.lending(Array(payload.utf8)) { index.padded($0) }
        let verdict = index.read(text)
        try #require(verdict == .json)
        let found = index.values(in: text)
        let values = try #require(found)
        return APNsCodec.unconfigured.kind(of: MessageType(type), values: IndexedObject(values, at: 0))
    }

    @Test(arguments: PushType.allCases)
    func `Each type goes to one kind of address`(type: PushType) throws {
        #expect(try Self.kind(of: type, #"{"aps":{"alert":"hi"}}"#) == type.kind)
    }

    @Test(
        arguments: [
            (#"{"aps":{"event":"start"}}"#, .pushToStart), (#"{"aps":{"event":"update"}}"#, .activity),
            (#"{"aps":{"event":"end"}}"#, .activity), (#"{"aps":{"event":7}}"#, .activity), (#"{"aps":[]}"#, .activity),
            (#"{"event":"start"}"#, .activity), (#"{"aps":{"\u0065vent":"st\u0061rt"}}"#, .pushToStart),
            ("{}", .activity),
        ] as [(String, AddressKind)])
    func `The event of a Live Activity decides`(payload: String, kind: AddressKind) throws {
        #expect(try Self.kind(of: .liveactivity, payload) == kind)
    }
}
