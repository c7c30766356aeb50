import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

/// What the simulated push service takes and what it refuses.
@Suite struct WebPushRequestTests {
    @Test("A message is taken, decrypted and recorded")
    func takesMessages() throws {
        let service = try PushService()
        let subscription = try service.subscribe("application_server_key=\(service.sender.publicText)")
        let reaction = try service.send(#"{"title":"Hello"}"#, to: subscription, topic: "abcd") { $0.urgency = "high" }
        #expect(reaction.status == 201 && reaction.action == .answer && reaction.body.isEmpty)
        #expect(reaction.field("location") == "\(Sender.origin)/message/m1")
        #expect(reaction.field("ttl") == "60")
        let record = try #require(try service.lines("/webpush/received").first)
        #expect(record["id"]?.string == subscription.id)
        #expect(record["status"]?.integer == 201 && record["accepted"]?.boolean == true)
        #expect(record["message_id"]?.string == "m1")
        #expect(record["topic"]?.string == "abcd" && record["urgency"]?.string == "high")
        #expect(record["ttl"]?.integer == 60)
        #expect(record["payload"]?["title"]?.string == "Hello")
        #expect(record["warnings"] == nil && record["refusal"] == nil)
        #expect(try service.lines("/subscriptions").first?["received"]?.integer == 1)
    }

    @Test("A message without content is taken")
    func takesEmptyMessages() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let reaction = try service.send(to: subscription) {
            $0.body = []
            $0.bodyCount = 0
            $0.encoding = nil
        }
        #expect(reaction.status == 201)
        #expect(try service.lines("/webpush/received").first?["payload_text"]?.string == "")
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let status: UInt16
        let number: Int64
        let change: @Sendable (inout WebPushRequest) -> Void
        var testDescription: String { name }

        init(
            _ name: String, _ status: UInt16, _ number: Int64,
            _ change: @escaping @Sendable (inout WebPushRequest) -> Void
        ) {
            self.name = name
            self.status = status
            self.number = number
            self.change = change
        }
    }

    static let refused = [
        Case("no TTL", 400, 111) { $0.ttl = nil }, Case("an empty TTL", 400, 114) { $0.ttl = "" },
        Case("a negative TTL", 400, 114) { $0.ttl = "-1" }, Case("a TTL with a fraction", 400, 114) { $0.ttl = "1.5" },
        Case("a TTL without end", 400, 114) { $0.ttl = String(repeating: "9", count: 19) },
        Case("an unknown urgency", 400, 999) { $0.urgency = "urgent" },
        Case("an empty topic", 400, 113) { $0.topic = "" },
        Case("a long topic", 400, 113) { $0.topic = String(repeating: "a", count: 33) },
        Case("a topic with a space", 400, 113) { $0.topic = "a b" },
        Case("a padded topic", 400, 113) { $0.topic = "ab==" },
        Case("a topic of a length that Base64URL never has", 400, 113) { $0.topic = "abcde" },
        Case("a topic with an umlaut", 400, 113) { $0.topic = "ä" },
        Case("no encoding", 400, 110) { $0.encoding = nil },
        Case("an old encoding", 400, 110) { $0.encoding = "aesgcm" },
        Case("a field of an old encoding", 400, 110) { $0.hasOldFields = true },
        Case("an encoding without a body", 400, 110) { ($0.body, $0.bodyCount) = ([], 0) },
        Case("a long body", 413, 104) { ($0.body, $0.bodyCount) = ([UInt8](repeating: 0, count: 4097), 4097) },
        Case("a body that was cut", 413, 104) { $0.bodyCount = 1_000_000 },
        Case("another body", 400, 110) { $0.body[100] ^= 1 },
        Case("no authorization", 401, 109) { $0.authorization = nil },
        Case("GET", 405, 999) { $0.method = "GET" }, Case("no such path", 404, 102) { $0.path = "/3/device/ab" },
        Case("no path", 404, 102) { $0.path = nil }, Case("an endpoint without an id", 404, 102) { $0.path = "/push/" },
        Case("an unknown endpoint", 404, 102) { $0.path = "/push/" + String(repeating: "ab", count: 16) },
        Case("an endless path", 404, 102) { $0.path = "/push/" + String(repeating: "ab", count: 100_000) },
        Case("an id that is none", 404, 102) { $0.path = "/push/xyz" },
    ]

    @Test("A request that breaks a rule is refused by name", arguments: refused)
    func refuses(one: Case) throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let reaction = try service.send(to: subscription, change: one.change)
        let error = try #require(reaction.error)
        #expect(reaction.status == one.status && error["code"]?.integer == Int64(one.status))
        #expect(error["errno"]?.integer == one.number)
        #expect(error["error"]?.string?.isEmpty == false)
        let record = try #require(try service.lines("/webpush/received").first)
        #expect(record["refusal"] == error["message"] && record["accepted"]?.boolean == false)
        #expect(record["message_id"] == nil)
        #expect(try service.lines("/subscriptions").first?["received"]?.integer == 0)
    }

    @Test("The largest message is taken, with a warning about the bridge of Firefox")
    func takesTheLargestMessage() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let text = String(repeating: "x", count: 4096 - 86 - 16 - 4)
        #expect(try service.send(text, to: subscription).status == 201)
        #expect(try service.send(text + "x", to: subscription).status == 413)
        let records = try service.lines("/webpush/received")
        #expect(records[0]["payload_text"]?.string == text && records[0]["body_bytes"]?.integer == 4096)
        #expect(records[0]["warnings"]?.elements?.first?.string == "too_large_for_firefox_on_android")
    }

    @Test("Topics and lifetimes at their limits are taken")
    func takesLimits() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        for topic in ["ab", "a-_", String(repeating: "Z", count: 32)] {
            #expect(try service.send(to: subscription, topic: topic).status == 201)
        }
        #expect(try service.send(to: subscription) { $0.ttl = "0" }.field("ttl") == "0")
        #expect(try service.send(to: subscription) { $0.ttl = "2592000" }.field("ttl") == "2592000")
        // Mozilla shortens what is longer than 30 days.
        #expect(try service.send(to: subscription) { $0.ttl = "2592001" }.field("ttl") == "2592000")
    }

    @Test("A body that does not decrypt is refused with the cause, and a warning is recorded")
    func warnsOfUndecipherableBodies() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let other = try service.subscribe()
        let reaction = try service.send(to: subscription) {
            $0.body = try Sender.encrypt([1], for: other.point, secret: subscription.secret)
            $0.bodyCount = $0.body.count
        }
        #expect(reaction.status == 400)
        #expect(reaction.error?["message"]?.string == EncryptedBody.Fault.notAuthentic.text)
        let record = try #require(try service.lines("/webpush/received").first)
        #expect(record["warnings"]?.elements?.map(\.string) == ["not_decrypted"])
        #expect(record["payload"] == nil && record["payload_text"] == nil)
    }

    @Test("A message with the same topic replaces the one before it")
    func replacesByTopic() throws {
        let service = try PushService()
        let (one, two) = (try service.subscribe(), try service.subscribe())
        try service.send("1", to: one, topic: "aaaa")
        try service.send("2", to: two, topic: "aaaa")
        try service.send("3", to: one, topic: "bbbb")
        try service.send("4", to: one, topic: "aaaa")
        try service.send("5", to: one)
        try service.send("6", to: one, topic: "aaaa") { $0.ttl = nil }
        try service.send("7", to: one, topic: "aaaa")
        let records = try service.lines("/webpush/received")
        #expect(records.map { $0["replaces"]?.integer } == [nil, nil, nil, 1, nil, nil, 4])
        #expect(records.map { $0["replaced_by"]?.integer } == [4, nil, nil, 7, nil, nil, nil])
    }
}
