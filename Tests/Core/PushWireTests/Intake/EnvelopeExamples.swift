import APNs
import PushModel
import PushTime
import PushWire

/// The apps and helper functions for tests of intake, and a usual envelope.
enum EnvelopeExamples {
    static let now: UnixSeconds = 1_767_000_000
    static let apps = AppTable([
        facts("shop", topic: "com.example.shop", usesToken: true),
        facts("bank", topic: "com.example.bank", usesToken: false),
        facts("an-app.of_a.long-name", topic: "com.example.long", usesToken: true),
        facts("calls", topic: "com.example.shop.voip", usesToken: false),
    ])

    private static func facts(_ name: String, topic: String, usesToken: Bool) -> AppFacts {
        let id = AppID(name)!
        return AppFacts(id: id, codec: APNsCodec(app: id, topic: topic, usesToken: usesToken))
    }

    static let token = String(repeating: "0123456789abcdef", count: 4)
    static let frame = #"{"aps":{"alert":"Hello"}}"#
    static let wakes = #"{"aps":{"content-available":1}}"#

    /// Returns a payload that satisfies the rules of its push type.
    static func frame(of type: PushType) -> String {
        switch type {
        case .alert, .voip, .complication, .location: frame
        case .pushtotalk: #"{"aps":{}}"#
        case .background: wakes
        case .liveactivity: #"{"aps":{"event":"update","timestamp":1767000000,"content-state":{"score":[1,0]}}}"#
        case .widgets, .controls: #"{"aps":{"content-changed":true}}"#
        case .accessory: #"{"aps":{"encryptedData":"e","sessionIdentifier":"s","keyID":"k","messageIndex":"1"}}"#
        case .fileprovider: #"{"container-identifier":"c"}"#
        case .mdm: #"{"mdm":"magic"}"#
        }
    }

    /// Parses an envelope with its own reader, since readers are not shared.
    static func read(_ envelope: String, frame: String? = frame) -> Result<PushRequest, EnvelopeFault> {
        read(Array(envelope.utf8), frame: frame.map { Array($0.utf8) })
    }

    static func read(
        _ envelope: [UInt8], frame: [UInt8]? = Array(frame.utf8),
        by reader: EnvelopeReader = EnvelopeReader(apps: apps),
        now: UnixSeconds = now
    ) -> Result<PushRequest, EnvelopeFault> {
        let text = Lent(envelope)
        let payload = frame.map { Lent($0) }
        do throws(EnvelopeFault) {
            return .success(try reader.read(text.bytes, payload: payload?.bytes, now: now))
        } catch {
            return .failure(error)
        }
    }

    /// Returns an envelope with `id`, `app`, `to` and the given members.
    static func envelope(_ members: String = "", to: String? = nil) -> String {
        #"{"id":"m-1","app":"shop","to":\#(to ?? #"{"tokens":["\#(token)"]}"#)\#(members.isEmpty ? "" : ",")\#(members)}"#
    }

    static func request(_ members: String = "", to: String? = nil, frame: String? = frame) throws -> PushRequest {
        try read(envelope(members, to: to), frame: frame).get()
    }

    static func rejection(_ envelope: String, frame: String? = frame) -> Rejection? {
        rejection(Array(envelope.utf8), frame: frame.map { Array($0.utf8) })
    }

    static func rejection(_ envelope: [UInt8], frame: [UInt8]?) -> Rejection? {
        switch read(envelope, frame: frame) {
        case .success: nil
        case .failure(let fault): fault.rejection
        }
    }

    static func batch(
        _ lines: String, by reader: EnvelopeReader = EnvelopeReader(apps: apps)
    ) throws(Rejection) -> [Result<PushRequest, EnvelopeFault>] {
        let text = Lent(Array(lines.utf8))
        var results: [Result<PushRequest, EnvelopeFault>] = []
        try reader.readBatch(text.bytes, now: now) { results.append($0) }
        return results
    }
}

/// Bytes in an allocation of exactly their size, so that the address sanitizer detects reads past their end.
final class Lent {
    private let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
    }

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
}
