import FCM
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushSimulator
import TestSupport
import TestTraits
import Testing

/// Messages from the envelope to the simulated FCM and back into the event log.
@Suite(.waits) struct FCMDeliveryTests {
    private static func envelope(_ id: String, to addresses: [String], _ more: String = #""alert":"Hello""#) -> String {
        let tokens = addresses.map { #""\#($0)""# }.joined(separator: ",")
        return #"{"id":"\#(id)","app":"shop","to":{"tokens":[\#(tokens)]},\#(more)}"#
    }

    @Test func `Each address gets the message once, with one access token for a thousand`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            let addresses = (0..<1000).map { "token-\($0)" }
            let answer = await scene.push(Self.envelope("one", to: addresses))
            #expect(answer.outcome == .accepted, "\(String(decoding: answer.text, as: UTF8.self))")
            await scene.waitUntilDone()
            let (records, mints) = await scene.service.with { ($0.machine.records, $0.machine.mints) }
            #expect(mints == 1)
            #expect(records.count == 1000 && Set(records.map(\.message.target)) == Set(addresses))
            let message = try #require(records.first?.message)
            #expect(message.kind == "token" && message.content["notification"]?["body"]?.string == "Hello")
            #expect(message.content["android"]?["notification"]?["tag"]?.string == "one")
            #expect(message.content["android"]?["priority"]?.string == "high")
            let sent = try await scene.events().filter { $0.kind == .deliverySent }
            #expect(sent.count == 1000)
        }
    }

    @Test func `The time to live is what is left by the clock of the cluster`() async throws {
        try await FCMScene.run { scene in
            let ahead: @Sendable () -> WallTime = { .current() + .seconds(3600) }
            scene.wallClock.withLock { $0 = ahead }
            try await scene.openGateway(try await scene.credential())
            let end = ahead().seconds + 600
            let answer = await scene.push(
                Self.envelope("one", to: ["token"], #""alert":"Hello","expires_at":\#(end)"#))
            #expect(answer.outcome == .accepted)
            await scene.waitUntilDone()
            let records = await scene.service.with { $0.machine.records }
            let text = try #require(records.first?.message.content["android"]?["ttl"]?.string)
            #expect((1...600).contains(try #require(Int(text.dropLast()))), "\(text)")
        }
    }

    @Test func `A token and the installation id in it are one device, which gets one push`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            let token = "\(FCMScene.fid):APA91bToken"
            for address in [token, FCMScene.fid] {
                _ = try await scene.registry.register([
                    DeviceRegistration(app: FCMScene.app, token: try FCMCodec().address(address))
                ])
            }
            let envelope = #"{"id":"one","app":"shop","to":{"all":true},"alert":"Hello"}"#
            #expect(await scene.push(envelope).outcome == .accepted)
            await scene.waitUntilDone()
            let records = await scene.service.with { $0.machine.records }
            #expect(records.map(\.message.target) == [FCMScene.fid] && records.first?.message.kind == "fid")
            // Named both ways, the device still gets the message once.
            #expect(await scene.push(Self.envelope("two", to: [token, FCMScene.fid])).outcome == .accepted)
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.count } == 2)
        }
    }

    @Test func `A dead address is deactivated, and one that was refused for the payload or its project stays`()
        async throws
    {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            let addresses = ["UNREGISTERED-1", "INVALID_ARGUMENT-1", "ok-1"]
            for address in addresses {
                _ = try await scene.registry.register([
                    DeviceRegistration(app: FCMScene.app, token: try FCMCodec().address(address))
                ])
            }
            await scene.service.with { service in
                service.behavior = { message, _ in
                    message.target == "ok-1"
                        ? .refused(status: 400, word: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT")
                        : FCMReaction.byName(message.target)
                }
            }
            #expect(await scene.push(Self.envelope("one", to: addresses)).outcome == .accepted)
            await scene.waitUntilDone()
            try await wait(while: try await scene.events().count { $0.kind == .deviceDeactivated } < 2)
            let ended = try await scene.events().filter { $0.kind == .deviceDeactivated }
            #expect(
                Set(ended.map(\.device))
                    == Set(try [scene.device("UNREGISTERED-1"), scene.device("INVALID_ARGUMENT-1")]))
            #expect(Set(ended.map(\.reason)) == ["UNREGISTERED", "INVALID_TOKEN"])
            let rejected = try await scene.events().filter { $0.kind == .deliveryRejected }
            #expect(Set(rejected.map(\.reason)) == ["UNREGISTERED", "INVALID_TOKEN", "INVALID_ARGUMENT"])
        }
    }

    @Test func `A message without an answer is sent again, and the tag lets the second copy replace the first`()
        async throws
    {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            await scene.service.with { service in
                service.behavior = { _, earlier in earlier == 0 ? .cut : .taken }
            }
            #expect(await scene.push(Self.envelope("one", to: ["a"])).outcome == .accepted)
            await scene.waitUntilDone()
            let records = await scene.service.with { $0.machine.records }
            #expect(records.count == 2)
            #expect(records.allSatisfy { $0.message.content["android"]?["notification"]?["tag"]?.string == "one" })
            let unknown = try await scene.events().filter { $0.kind == .deliveryUnknown }
            #expect(unknown.map(\.reason) == ["connection_lost"] && unknown.map(\.isResent) == [true])
        }
    }

    @Test func `After 500 and 503 the producer decides whether a duplicate may be risked`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            await scene.service.with { service in
                service.behavior = { message, earlier in
                    if earlier > 0 { return .taken }
                    return message.target == "html" ? .html(status: 502) : FCMReaction.byName(message.target)
                }
            }
            let addresses = ["UNAVAILABLE-1", "INTERNAL-1", "html"]
            #expect(await scene.push(Self.envelope("again", to: addresses)).outcome == .accepted)
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.count } == 6)
            let retries = try await scene.events().filter { $0.kind == .deliveryRetry }
            #expect(Set(retries.map(\.reason)) == ["UNAVAILABLE", "INTERNAL", nil])
            #expect(Set(retries.map(\.status)) == [503, 500, 502])
            let once = #""alert":"Once","on_unknown":"drop""#
            #expect(await scene.push(Self.envelope("once", to: addresses, once)).outcome == .accepted)
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.count } == 9)
            let unknown = try await scene.events().filter { $0.kind == .deliveryUnknown }
            #expect(unknown.map(\.reason) == Array(repeating: "server_error", count: 3))
            #expect(unknown.allSatisfy { $0.isResent == false && $0.message == "once" })
        }
    }

    @Test func `A refused payload is named by its place, and nothing is accepted`() async throws {
        try await FCMScene.run { scene in
            for (more, name) in [
                (#""payload":{"data":{"n":1}}"#, "/data/n"), (#""payload":{"token":"x"}"#, "/token"),
                (#""payload":{"data":{"google.x":"1"}}"#, "/data/google.x"),
                (#""alert":"x","custom":{"n":1}"#, "/custom/n"),
                (#""payload":{"notification":{"body":"x"}},"push_type":"background""#, "/notification"),
            ] {
                let answer = await scene.push(Self.envelope("one", to: ["a"], more))
                let text = String(decoding: answer.text, as: UTF8.self)
                #expect(text.contains("bad_payload") && text.contains(name), "\(text)")
            }
            let text = String(
                decoding: await scene.push(Self.envelope("one", to: ["a b"])).text, as: UTF8.self)
            #expect(text.contains("bad_token"))
        }
    }

    @Test func `What was accepted before a restart is sent after it, once`() async throws {
        try await FCMScene.run { scene in
            #expect(await scene.push(Self.envelope("one", to: ["a", "b"])).outcome == .accepted)
            await scene.close()
            try await scene.open()
            try await scene.openGateway(try await scene.credential())
            await scene.waitUntilDone()
            let records = await scene.service.with { $0.machine.records }
            #expect(records.map(\.message.target).sorted() == ["a", "b"])
            await scene.close()
            try await scene.open()
            try await scene.openGateway(try await scene.credential())
            #expect(await scene.push(Self.envelope("one", to: ["a", "b"])).outcome == .duplicate)
            #expect(await scene.push(Self.envelope("two", to: ["c"])).outcome == .accepted)
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.count } == 3)
        }
    }

    @Test func `A connection that ends with GOAWAY loses and doubles nothing`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            await scene.service.with { service in
                service.behavior = { message, _ in message.target.hasSuffix("7") ? .takenLast : .taken }
            }
            let addresses = (0..<300).map { "token-\($0)" }
            #expect(await scene.push(Self.envelope("one", to: addresses)).outcome == .accepted)
            await scene.waitUntilDone()
            let targets = await scene.service.with { $0.machine.records.map(\.message.target) }
            #expect(targets.count == 300 && Set(targets) == Set(addresses))
        }
    }

    @Test func `Deliveries drip at the rate of the project, over all connections`() async throws {
        try await FCMScene.run { scene in
            scene.tuning.withLock {
                $0 = {
                    $0.deliveriesPerMinute = 6000
                    $0.policy.minimum = 3
                    $0.policy.maximum = 3
                }
            }
            try await scene.openGateway(try await scene.credential())
            await wait(while: await scene.service.with { $0.openConnections } < 3)
            let begun = MonotonicTime.current()
            #expect(await scene.push(Self.envelope("one", to: (0..<50).map { "t-\($0)" })).outcome == .accepted)
            await scene.waitUntilDone()
            // timed: the rate is tested; a hundred a second, of which ten may come at once
            #expect(MonotonicTime.current() - begun >= .milliseconds(390))
            #expect(await scene.service.with { $0.machine.records.count } == 50)
        }
    }

    @Test func `Each answer of the table that is not about the credential has its effect, from the wire to the events`()
        async throws
    {
        let rows = ReasonTable.fcm.all.filter { $0.concern != .credential }
        let answers = Dictionary(uniqueKeysWithValues: rows.map { ("phone-\($0.names[0])", Self.answer(of: $0)) })
        try await FCMScene.run { scene in
            scene.tuning.withLock {
                $0 = { $0.policy.breaker.pause = Backoff(first: .milliseconds(10), maxDelay: .milliseconds(50)) }
            }
            try await scene.openGateway(try await scene.credential())
            for address in answers.keys {
                _ = try await scene.registry.register([
                    DeviceRegistration(app: FCMScene.app, token: try FCMCodec().address(address))
                ])
            }
            await scene.service.with { service in
                service.behavior = { message, earlier in
                    earlier == 0 ? answers[message.target] ?? .taken : .taken
                }
            }
            #expect(await scene.push(Self.envelope("one", to: Array(answers.keys))).outcome == .accepted)
            await scene.waitUntilDone()
            func devices(_ isMeant: (Disposition) -> Bool) throws -> Set<DeviceID?> {
                Set(
                    try rows.filter { isMeant($0.disposition) }.map { row in
                        try scene.device("phone-\(row.names[0])")
                    })
            }
            let dead = try devices { $0 == .deactivate }
            try await wait(while: try await scene.events().count { $0.kind == .deviceDeactivated } < dead.count)
            let events = try await scene.events()
            #expect(Set(events.filter { $0.kind == .deliverySent }.map(\.device)) == (try devices { $0 == .retry }))
            #expect(
                Set(events.filter { $0.kind == .deliveryRejected }.map(\.device))
                    == (try devices { $0 == .drop || $0 == .deactivate }))
            #expect(Set(events.filter { $0.kind == .deviceDeactivated }.map(\.device)) == dead)
            #expect(
                await scene.service.with { $0.machine.records.count { $0.name != nil } }
                    == (try devices { $0 == .retry }).count)
        }
    }

    private static func answer(of row: KnownReason) -> FCMReaction {
        let retryAfter = row.status == 429 ? "1" : nil
        switch row.names[0] {
        case "INVALID_TOKEN": return .byName("INVALID_ARGUMENT")
        case "PROJECT_QUOTA_EXCEEDED":
            let type = "type.googleapis.com/google.rpc.QuotaFailure"
            return .refused(
                status: 429, word: "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", retryAfter: retryAfter,
                details: [#"{"@type":"\#(type)","violations":[{"subject":"project:1"}]}"#])
        case let name: return .refused(status: row.status, word: name, code: name, retryAfter: retryAfter)
        }
    }
}
