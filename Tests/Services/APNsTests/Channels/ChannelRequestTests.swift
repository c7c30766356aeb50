import PushModel
import PushWire
import Testing

@testable import APNs

@Suite struct ChannelRequestTests {
    static let app = BundleID("com.example.shop")!
    static let channel = ChannelID("dHN0LXNyY2gtY2hubA==")!
    static let update = Array(#"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#.utf8)

    struct Example: Sendable {
        var operation: ChannelRequest.Operation
        var line: String
        var fields: String
        var body: String?
    }

    static let examples: [Example] = [
        Example(
            operation: .create(.newestStored), line: "POST /1/apps/com.example.shop/channels",
            fields: "content-type=application/json", body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#),
        Example(
            operation: .create(.notStored), line: "POST /1/apps/com.example.shop/channels",
            fields: "content-type=application/json", body: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#),
        Example(
            operation: .read(channel), line: "GET /1/apps/com.example.shop/channels",
            fields: "apns-channel-id=dHN0LXNyY2gtY2hubA=="),
        Example(
            operation: .delete(channel), line: "DELETE /1/apps/com.example.shop/channels",
            fields: "apns-channel-id=dHN0LXNyY2gtY2hubA=="),
        Example(
            operation: .list, line: "GET /1/apps/com.example.shop/all-channels", fields: ""),
        Example(
            operation: .send(Broadcast(update, to: channel, expiration: 1_767_229_200, priority: .five)),
            line: "POST /4/broadcasts/apps/com.example.shop",
            fields: "content-type=application/json apns-channel-id=dHN0LXNyY2gtY2hubA== apns-push-type=liveactivity "
                + "apns-expiration=1767229200 apns-priority=5",
            body: String(decoding: update, as: UTF8.self)),
    ]

    @Test(arguments: examples) func `Requests have the documented form`(example: Example) {
        let request = ChannelRequest(example.operation, of: Self.app)
        #expect("\(request.method) \(request.path)" == example.line)
        #expect(request.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ") == example.fields)
        #expect(request.body.map { String(decoding: $0, as: UTF8.self) } == example.body)
        let id = DeliveryID("01060f77-dbe3-5343-b9b6-9abc059dd182")!
        let known = ChannelRequest(example.operation, of: Self.app, requestID: id)
        #expect(known.fields.first == .init(name: "apns-request-id", value: id.description))
    }

    private func answer(
        _ operation: ChannelRequest.Operation, _ status: Int, _ body: String = "", channel: String? = nil
    ) throws(ChannelAnswerError) -> ChannelAnswer {
        try ChannelRequest(operation, of: Self.app).answer(status: status, channelID: channel, body: Array(body.utf8))
    }

    @Test func `Responses to all operations are parsed`() throws {
        #expect(try answer(.create(.notStored), 201, channel: Self.channel.text) == .created(Self.channel))
        let description = #"{"message-storage-policy":1,"push-type":"LiveActivity","new":[]}"#
        #expect(
            try answer(.read(Self.channel), 200, description)
                == .described(ChannelDescription(policy: .newestStored, pushType: "LiveActivity")))
        #expect(try answer(.delete(Self.channel), 204) == .deleted)
        #expect(try answer(.list, 200, #"{"channels":[]}"#) == .listed([]))
        #expect(
            try answer(.list, 200, #"{"channels":["dHN0LXNyY2gtY2hubA==","AA=="]}"#)
                == .listed([Self.channel, ChannelID("AA==")!]))
        #expect(try answer(.send(Broadcast(Self.update, to: Self.channel)), 200) == .sent)
    }

    static let unreadable: [(ChannelRequest.Operation, Int, String, String?)] = [
        (.create(.notStored), 201, "", nil), (.create(.notStored), 201, "", "not base64!"),
        (.create(.notStored), 201, "", ""), (.read(channel), 200, "", nil), (.read(channel), 200, "{}", nil),
        (.read(channel), 200, #"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, nil),
        (.read(channel), 200, #"{"message-storage-policy":1"#, nil), (.list, 200, "", nil), (.list, 200, "[]", nil),
        (.list, 200, #"{"channels":{}}"#, nil), (.list, 200, #"{"channels":["AA==",7]}"#, nil),
        (.list, 200, #"{"channels":["a b"]}"#, nil),
    ]

    @Test(arguments: unreadable) func `A successful response with missing values is reported as unreadable`(
        operation: ChannelRequest.Operation, status: Int, body: String, channel: String?
    ) {
        let error = #expect(throws: ChannelAnswerError.self) {
            try answer(operation, status, body, channel: channel)
        }
        if case .unreadable(let what) = error { #expect(!what.isEmpty) } else { Issue.record("\(error as Any)") }
    }

    @Test func `Refusals contain the status and the reason`() {
        for known in ReasonTable.apns.all {
            let error = #expect(throws: ChannelAnswerError.self) {
                try answer(.list, known.status, #"{"reason":"\#(known.names[0])"}"#)
            }
            #expect(error == .refused(Refusal(status: known.status, reason: known.reason)))
        }
        let bare = #expect(throws: ChannelAnswerError.self) { try answer(.list, 503, "<html>") }
        #expect(bare == .refused(Refusal(status: 503, reason: nil)))
    }

    @Test(arguments: [
        ("AA==", true), ("a+/-_=", true), ("", false), ("a b", false), ("a\n", false), ("é", false),
        (String(repeating: "a", count: 1024), true), (String(repeating: "a", count: 1025), false),
    ]) func `A channel id is valid only if it is base64 of limited length`(text: String, isOne: Bool) {
        #expect((ChannelID(text) != nil) == isOne)
    }
}
