import APNs
import PushModel
import PushTime
import Testing

@testable import PushWire

/// The members of an acceptance event that describe the request.
@Suite struct AcceptedDetailTests {
    static func line(_ request: PushRequest) throws -> String {
        var writer = LogWriter(next: 1)
        writer.begin(time: 1000, reserving: 100)
        writer.add(accepted: request, at: 1000)
        let segment = writer.finish()
        var line: [UInt8] = []
        var text = EventText()
        try segment.walk { event, apps, bytes in
            text.append(event, of: apps, texts: bytes, to: &line)
            return true
        }
        return String(decoding: line, as: UTF8.self)
    }

    static func message(
        _ type: PushType = .alert, priority: PushPriority? = nil, expiresAt: Int64? = nil, notBefore: Int64? = nil,
        collapseID: String? = nil, onUnknown: UnknownPolicy = .resend
    ) -> Message {
        Message(
            id: MessageID("m")!, app: AppID("shop")!, type: MessageType(type), priority: priority,
            expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapseID.flatMap { CollapseID($0) }, payload: [], onUnknown: onUnknown,
            notBefore: notBefore.map { UnixSeconds($0) })
    }

    @Test func `With defaults, an acceptance contains only the number of named devices`() throws {
        let token = Address(words: (1, 2, 3, 4))
        let line = try Self.line(PushRequest(Self.message(), to: .tokens([token])))
        #expect(line.hasSuffix(#""message_id":"m","devices":1}"#), "\(line)")
        #expect(!line.contains(token.hex))
    }

    @Test func `An acceptance contains a dynamic audience within limits`() throws {
        let users = (1...12).map { "u\($0)" }
        let some = try Self.line(PushRequest(Self.message(), to: .users(users)))
        #expect(some.contains(#""audience":"users","user_count":12,"users":["u1","u2","#) && !some.contains("u11"))
        let tags = TagExpression.all([.tag("a\"b"), .any([.tag("c"), .not(.tag("d"))])])
        #expect(
            try Self.line(PushRequest(Self.message(), to: .tags(tags)))
                .hasSuffix(#""audience":"tags","tags":{"all":["a\"b",{"any":["c",{"not":"d"}]}]}}"#))
        let long = TagExpression.any((0..<200).map { .tag("a-long-tag-\($0)") })
        #expect(try Self.line(PushRequest(Self.message(), to: .tags(long))).hasSuffix(#""audience":"tags"}"#))
        #expect(try Self.line(PushRequest(Self.message(), to: .everyone)).hasSuffix(#""audience":"all"}"#))
    }

    @Test func `An acceptance contains the client and the options that differ from the defaults`() throws {
        let message = Self.message(
            .voip, priority: .five, expiresAt: 1_767_225_600, notBefore: 1_767_225_000, collapseID: "c",
            onUnknown: .drop)
        var request = PushRequest(message, to: .everyone)
        request.client = "orders"
        let line = try Self.line(request)
        #expect(
            line.hasSuffix(
                #""audience":"all","push_type":"voip","priority":5,"expires_at":1767225600000,"#
                    + #""not_before_at":1767225000000,"collapse_id":"c","on_unknown":"drop","client":"orders"}"#),
            "\(line)")
        // A background message has priority 5 by default. A time that overflows in milliseconds saturates.
        let background = try Self.line(PushRequest(Self.message(.background, expiresAt: .max), to: .everyone))
        #expect(background.contains(#""push_type":"background","expires_at":9223372036854775807}"#), "\(background)")
    }
}
