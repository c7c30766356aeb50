import PushLoop
import PushModel
import PushPipeline
import TestSupport
import TestTraits
import Testing

/// A push service that the rest of Carillon does not know, from the envelope to the event log, with the real parts
/// between them. Whatever in these parts assumes another service fails here.
@Suite(.waits) struct StubServiceTests {
    private static let longest = "long-" + String(repeating: "x", count: Address.maxLength - 5)

    private static func envelope(_ id: String, to names: [String], _ more: String = "") -> String {
        let tokens = names.map { #""stub:\#($0)""# }.joined(separator: ",")
        return #"{"id":"\#(id)","app":"stub","to":{"tokens":[\#(tokens)]},"#
            + #""alert":"Hello","custom":{"m":"\#(id)"}\#(more)}"#
    }

    // MARK: Sending

    @Test func `Each address gets the message once, and the log has the outcomes in the words of the service`()
        async throws
    {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let names = ["ok-1", "busy-1", "bad-1", "silent-1", Self.longest]
            let answer = await scene.push(Self.envelope("one", to: names, #","push_type":"whisper""#))
            #expect(answer.outcome == .accepted)
            await scene.passUntilDone()
            let records = await scene.server.with { $0.records }
            let counts = names.map { name in records.count { $0.request.name == name } }
            // Two were sent again: the one that the service was too busy for, and the one that it never answered.
            #expect(counts == [1, 2, 1, 2, 1])
            for request in records.map(\.request) {
                #expect(request.path == "/send" && request.kind == "whisper" && request.urgency == 1)
                #expect(request.content == #"{"text":"Hello","data":{"m":"one"}}"#)
            }
            let events = try await scene.events()
            #expect(events.filter { $0.kind == .messageAccepted }.map(\.type) == ["whisper"])
            for name in names where name != "bad-1" {
                let device = try scene.device(name)
                let sent = events.filter { $0.kind == .deliverySent && $0.device == device }
                let location = records.last { $0.request.name == name }?.location
                #expect(sent.count == 1 && sent.first?.providerID == location && location != nil, "\(name.prefix(9))")
            }
            let rejected = events.filter { $0.kind == .deliveryRejected }
            #expect(try rejected.map(\.device) == [scene.device("bad-1")])
            #expect(rejected.map(\.reason) == ["TEXT_REFUSED"] && rejected.map(\.status) == [400])
            let retry = events.filter { $0.kind == .deliveryRetry }
            #expect(retry.map(\.reason) == ["OVERLOADED"] && retry.map(\.status) == [503])
            let unknown = events.filter { $0.kind == .deliveryUnknown }
            #expect(unknown.map(\.reason) == ["timeout"] && unknown.map(\.isResent) == [true])
            #expect(events.count { $0.kind == .messageCompleted } == 1)
        }
    }

    @Test func `The same id again is a duplicate and is not sent`() async throws {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let envelope = Self.envelope("one", to: ["ok-1"])
            #expect(await scene.push(envelope).outcome == .accepted)
            await scene.passUntilDone()
            #expect(await scene.push(envelope).outcome == .duplicate)
            // A later message has passed all parts, so the repeated one would have passed them, too.
            #expect(await scene.push(Self.envelope("two", to: ["ok-2"])).outcome == .accepted)
            await scene.passUntilDone()
            #expect(await scene.server.with { $0.records.map(\.request.message) } == ["one", "two"])
        }
    }

    @Test func `A link is rendered by the service, and is a part of what a repeated id must not change`() async throws {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let envelope = Self.envelope("one", to: ["ok-1"], #","link":"shop:a""#)
            #expect(await scene.push(envelope).outcome == .accepted)
            await scene.passUntilDone()
            #expect(await scene.push(envelope).outcome == .duplicate)
            let other = await scene.push(Self.envelope("one", to: ["ok-1"], #","link":"shop:b""#))
            #expect(other.outcome == .rejected(.idConflict))
            let contents = await scene.server.with { $0.records.map(\.request.content) }
            #expect(contents == [#"{"text":"Hello","opens":"shop:a","data":{"m":"one"}}"#])
        }
    }

    @Test func `An envelope over ZeroMQ takes the same way`() async throws {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let ack = try await scene.pushOverZeroMQ(Self.envelope("one", to: ["ok-1"], #","push_type":"shout""#))
            #expect(ack == ["ack/1", #"{"id":"one","status":"accepted","seq":1}"#])
            await scene.passUntilDone()
            #expect(await scene.server.with { $0.records.map(\.request.kind) } == ["shout"])
        }
    }

    // MARK: Intake

    private static let refused: [(String, RejectionReason, String)] = [
        (#""to":{"tokens":["00ff"]},"alert":"a""#, .badToken, "token 1 of 1 does not begin with stub:"),
        (#""to":{"tokens":["stub:a","stub:"]},"alert":"a""#, .badToken, "token 2 of 2 has no name"),
        (
            #""to":{"tokens":["stub:\#(longest)x"]},"alert":"a""#, .badToken,
            "token 1 of 1 has a name of 2049 bytes; 2048 are allowed"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","push_type":"voip""#, .badField,
            #"push_type does not allow "voip"; use one of alert, whisper, shout"#
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","push_type":"shout""#, .badField,
            "the app is not allowed to shout"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","push_type":"whisper","priority":10"#, .badField,
            "a whisper has the priority 1, not 10"
        ),
        (
            #""to":{"tokens":["stub:a"]},"payload":{"text":"\#(String(repeating: "x", count: 1000))"}"#,
            .payloadTooLarge, "1011 bytes; alert allows 1000"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"\#(String(repeating: "x", count: 1000))""#, .payloadTooLarge,
            "the stub allows 1000 bytes"
        ),
        (#""to":{"tokens":["stub:a"]},"payload":{"aps":{"alert":"a"}}"#, .badPayload, "text is missing"),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","badge":1"#, .badPayload,
            "badge: the stub cannot show it; remove it, or give payload instead"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","link":"shop:a","image":"https://a.example/b.png""#, .badPayload,
            "image: the stub cannot show it; remove it, or give payload instead"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":"a","thread":"orders""#, .badPayload,
            "thread: the stub cannot show it; remove it, or give payload instead"
        ),
        (
            #""to":{"tokens":["stub:a"]},"alert":{"loc-key":"K"}"#, .badField,
            "/alert/loc-key: alert has no such member; it has title, subtitle and body; "
                + "the app's own data belongs in custom"
        ),
    ]

    @Test func `Intake refuses in the words of the service`() async throws {
        var codec = StubCodec()
        codec.isLoud = false
        try await StubScene.run(codec: codec) { scene in
            for (members, reason, detail) in Self.refused {
                let answer = await scene.push(#"{"id":"one","app":"stub",\#(members)}"#)
                let text = String(decoding: answer.text, as: UTF8.self)
                #expect(answer.outcome == .rejected(reason), "\(members.prefix(80)): \(text)")
                let quoted = detail.replacing("\"", with: "\\\"")
                #expect(text.contains(#""detail":"\#(quoted)""#), "\(members.prefix(80)): \(text)")
            }
            #expect(await scene.parts.intake.counts.accepted == 0)
        }
    }

    @Test func `The ack has the findings of the service, and the payload goes out as it was given`() async throws {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let payload = #"{ "text": "a", "blink": true, "aps": 1 }"#
            let answer = await scene.push(
                #"{"id":"one","app":"stub","to":{"tokens":["stub:ok"]},"payload":\#(payload)}"#)
            let ack = #"{"id":"one","status":"accepted","seq":1,"findings":[{"code":"no_blinking","path":"blink"}]}"#
            #expect(String(decoding: answer.text, as: UTF8.self) == ack + "\n")
            await scene.passUntilDone()
            #expect(await scene.server.with { $0.records.map(\.request.content) } == [payload])
        }
    }

    // MARK: Devices

    @Test func `An address that has ended deactivates its device, and nothing more goes to it`() async throws {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let address = try StubCodec().address("stub:gone-1")
            let devices = try await scene.parts.registry.register([
                DeviceRegistration(app: StubScene.app, token: address)
            ])
            #expect(await scene.push(Self.envelope("one", to: ["gone-1", "ok-1"])).outcome == .accepted)
            let device = try scene.device("gone-1")
            try await scene.pass { try await scene.parts.registry.device(device)?.isActive == false }
            #expect(devices.map(\.id) == [device])
            #expect(try await scene.parts.registry.device(device)?.reason == "ADDRESS_ENDED")
            #expect(await scene.push(Self.envelope("two", to: ["gone-1", "ok-1"])).outcome == .accepted)
            await scene.passUntilDone()
            let events = try await scene.events()
            let ended = events.filter { $0.kind == .deviceDeactivated }
            #expect(ended.map(\.device) == [device] && ended.map(\.reason) == ["ADDRESS_ENDED"])
            let suppressed = events.filter { $0.kind == .deliverySuppressed }
            #expect(suppressed.map(\.message) == ["two"] && suppressed.map(\.reason) == ["inactive"])
            let names = await scene.server.with { $0.records.map(\.request.name) }
            #expect(names.sorted() == ["gone-1", "ok-1", "ok-1"])
        }
    }

    /// Sixty addresses are more than the brake lets pass if the app itself may be wrong.
    @Test(arguments: [("gone", 60, false), ("other", 0, true)])
    func `Only addresses of another app count as a fault of the app`(_ word: String, _ ended: Int, _ isStopped: Bool)
        async throws
    {
        try await StubScene.run { scene in
            try await scene.openGateway()
            let names = (0..<60).map { "\(word)-\($0)" }
            // Intake gives one message to the router, which reports the answers as they come. So the brake may let some
            // addresses pass before it stops.
            #expect(await scene.push(Self.envelope("one", to: names)).outcome == .accepted)
            await scene.passUntilDone()
            await scene.pass {
                let status = await scene.parts.feedback.status
                return status.taken == 60 && status.waiting == 0 && status.held + status.deactivated == 60
            }
            let status = await scene.parts.feedback.status
            #expect(status.stopped == (isStopped ? [StubScene.app] : []))
            #expect(isStopped ? status.deactivated < 60 : status.deactivated == UInt64(ended))
            let brakes = try await scene.events().filter { $0.kind == .deviceBrake }
            #expect(brakes.count == (isStopped ? 1 : 0))
        }
    }

    // MARK: Credential

    @Test func `A refused key stops the app until it has another one, and nothing is lost`() async throws {
        try await StubScene.run { scene in
            await scene.server.with { $0.key = "second" }
            try await scene.openGateway(key: "first")
            #expect(await scene.push(Self.envelope("one", to: ["ok-1", "ok-2"])).outcome == .accepted)
            await scene.pass { await scene.gateway?.status().isHalted == true }
            #expect(await scene.server.with { $0.records.allSatisfy { $0.location == nil } })
            scene.gateway?.credentialChanged(connect: try await scene.connect(with: "second"), tokens: nil)
            await scene.passUntilDone()
            let taken = await scene.server.with { $0.records.filter { $0.location != nil }.map(\.request.name) }
            #expect(taken.sorted() == ["ok-1", "ok-2"])
            let events = try await scene.events()
            #expect(events.count { $0.kind == .deliverySent } == 2)
            #expect(!events.contains { $0.kind == .deliveryRejected || $0.kind == .deliveryUnknown })
        }
    }

    // MARK: Restart

    @Test func `Messages of the service's own types wait on disk, and are sent after a restart`() async throws {
        try await StubScene.run { scene in
            let types = ["whisper", "shout", "alert"]
            for type in types {
                let envelope = Self.envelope(type, to: ["ok-1", Self.longest], #","push_type":"\#(type)""#)
                #expect(await scene.push(envelope).outcome == .accepted)
            }
            await scene.close()
            try await scene.open()
            #expect(scene.ledger.backlog(of: StubScene.app).waiting == 3)
            try await scene.openGateway()
            await scene.passUntilDone()
            let records = await scene.server.with { $0.records }
            for (type, urgency) in zip(types, [1, 10, 10] as [Int64]) {
                let requests = records.map(\.request).filter { $0.message == type }
                #expect(requests.map(\.kind) == [type, type] && requests.map(\.urgency) == [urgency, urgency])
                #expect(Set(requests.map(\.name)) == ["ok-1", Self.longest])
            }
            #expect(records.count == 6)
        }
    }
}
