import APNs
import PushGateways
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct ChannelClientTests {
    private let app = ChannelScene.app

    @Test func `A channel is created, read, listed, used and deleted`() async throws {
        try await withChannels { scene in
            let (client, token) = (scene.client, scene.token)
            let first = try await scene.create()
            let second = try await scene.create(.notStored)
            #expect(first != second)
            #expect(
                try await client.read(first, of: app, token: token)
                    == ChannelDescription(policy: .newestStored, pushType: "LiveActivity"))
            #expect(try await client.read(second, of: app, token: token).policy == .notStored)
            #expect(try await client.list(of: app, token: token) == [first, second])
            #expect(try await client.list(of: BundleID("com.example.other")!, token: token) == [])
            let soon = WallTime.current().seconds + 3600
            try await client.send(
                Broadcast(ChannelScene.update, to: first, expiration: soon, priority: .five), of: app, token: token)
            try await client.send(Broadcast(ChannelScene.update, to: second), of: app, token: token)
            try await client.delete(first, of: app, token: token)
            #expect(try await client.list(of: app, token: token) == [second])
            #expect(await scene.simulator.with { $0.connectionCount } == 1)
        }
    }

    @Test func `The error of a refusal describes what happened and what to do`() async throws {
        try await withChannels { scene in
            let (client, token) = (scene.client, scene.token)
            let stranger = ChannelID("AAAA")!
            let missing = await ChannelScene.error { _ = try await client.read(stranger, of: app, token: token) }
            guard case .refused(let refusal, let requestID?)? = missing else {
                Issue.record("\(missing as Any)")
                return
            }
            #expect(refusal == Refusal(status: 400, reason: "ChannelNotRegistered"))
            #expect(DeliveryID(requestID) != nil)
            #expect(
                missing?.description
                    == "the provider answered 400 ChannelNotRegistered (request \(requestID)): there is no such channel "
                    + "in this app and environment; forget the channel, and create another if it is still needed")

            let channel = try await scene.create(.notStored)
            let stored = Broadcast(ChannelScene.update, to: channel, expiration: WallTime.current().seconds + 60)
            let cases: [(ProviderReason, () async throws -> Void)] = [
                ("BadExpirationDate", { try await client.send(stored, of: app, token: token) }),
                ("PayloadEmpty", { try await client.send(Broadcast([], to: channel), of: app, token: token) }),
                (
                    "PayloadTooLarge",
                    {
                        let payload = [UInt8](repeating: 0x20, count: 5121)
                        try await client.send(Broadcast(payload, to: channel), of: app, token: token)
                    }
                ),
                (
                    "BadRequestParams",
                    { _ = try await client.create(ChannelPolicy(rawValue: 2), of: app, token: token) }
                ),
                ("ChannelNotRegistered", { try await client.delete(stranger, of: app, token: token) }),
                ("MissingProviderToken", { _ = try await client.list(of: app, token: nil) }),
                (
                    "ExpiredProviderToken",
                    {
                        _ = try await client.list(of: app, token: ChannelScene.token(age: 4000))
                    }
                ),
            ]
            for (reason, call) in cases {
                let error = await ChannelScene.error(call)
                guard case .refused(let refusal, _)? = error else {
                    Issue.record("\(reason): \(error as Any)")
                    continue
                }
                #expect(refusal.reason == reason)
            }
        }
    }

    @Test func `The error of a temporary refusal contains the time until a retry`() async throws {
        let script = #"{ rules: [{ answer: { reason: "TooManyRequests", retry_after: 7 } }] }"#
        try await withChannels(script: script) { scene in
            let error = await ChannelScene.error { _ = try await scene.create() }
            guard case .refused(let refusal, _)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(refusal == Refusal(status: 429, reason: "TooManyRequests", retryAfter: 7))
            #expect(ReasonTable.apns.disposition(of: refusal) == .retry)
        }
    }

    @Test func `Simultaneous calls wait for the stream limit, and each gets its answer`() async throws {
        try await withChannels({ $0.callLimit = 3000 }) { scene in
            let ids = try await withThrowingTaskGroup(of: ChannelID.self) { group in
                for _ in 0..<3000 { group.addTask { try await scene.create() } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 3000)
            // The list is longer than the usual limit of a body.
            #expect(try await Set(scene.client.list(of: app, token: scene.token)) == ids)
            #expect(await scene.simulator.with { $0.machine.log.total } == 3001)
        }
    }

    @Test func `A call above the limit fails at once`() async throws {
        try await withChannels(script: #"{ rules: [{ silence: true }] }"#, { $0.callLimit = 2 }) { scene in
            let calls = [Task { try await scene.create() }, Task { try await scene.create() }]
            await scene.untilCalls(2)
            #expect(await ChannelScene.error { _ = try await scene.create() } == .busy(limit: 2))
            for call in calls { call.cancel() }
            for call in calls { _ = await call.result }
            #expect(await scene.client.callCount == 0)
        }
    }

    @Test func `An answer that is too large is not taken for a complete one`() async throws {
        try await withChannels({ $0.connection.limits.maxBodyBytes = 20 }) { scene in
            _ = try await scene.create()
            let error = await ChannelScene.error { _ = try await scene.client.list(of: app, token: scene.token) }
            #expect(error == .unreadable("it is larger than 20 bytes"))
        }
    }

    @Test(arguments: ["close: true", "half_frame: true"])
    func `The result of a call is unknown when the connection is lost during it`(fault: String) async throws {
        try await withChannels(script: "{ rules: [{ match: { request: 2 }, \(fault), times: 1 }] }") { scene in
            let first = try await scene.create()
            let error = await ChannelScene.error { _ = try await scene.create() }
            #expect(error == .unanswered(.connectionLost))
            // The client connects again by itself. The list shows whether the lost call was carried out.
            let channels = try await scene.client.list(of: app, token: scene.token)
            #expect(channels.first == first && channels.count <= 2)
        }
    }

    @Test func `A request that was reset may have been carried out`() async throws {
        let script = #"{ rules: [{ match: { request: 1 }, reset: "INTERNAL_ERROR", times: 1 }] }"#
        try await withChannels(script: script) { scene in
            #expect(await ChannelScene.error { _ = try await scene.create() } == .unanswered(.reset))
            _ = try await scene.create()
        }
    }

    @Test func `A call that a GOAWAY excludes was not processed, and the next uses another connection`() async throws {
        let script = #"{ rules: [{ match: { request: 2 }, goaway: { back: 1, reason: "Shutdown" }, times: 1 }] }"#
        try await withChannels(script: script) { scene in
            let first = try await scene.create()
            let error = await ChannelScene.error {
                _ = try await scene.client.read(first, of: app, token: scene.token)
            }
            #expect(error == .notSent("the provider closed the connection before it processed the request (Shutdown)"))
            let second = try await scene.create()
            #expect(try await scene.client.list(of: app, token: scene.token) == [first, second])
        }
    }

    @Test(arguments: ["refuse: true", #"tls: "refuse""#, #"goaway: { reason: "BadCertificate", close: true }"#])
    func `Without a connection a call is not sent, and the next call connects again`(fault: String) async throws {
        try await withChannels(script: "{ rules: [{ on: \"connect\", \(fault), times: 1 }] }") { scene in
            let error = await ChannelScene.error { _ = try await scene.create() }
            guard case .notSent(let why)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(!why.isEmpty)
            if fault.contains("BadCertificate") { #expect(why.contains("BadCertificate")) }
            let channel = try await scene.create()
            #expect(try await scene.client.list(of: app, token: scene.token) == [channel])
        }
    }

    @Test func `A call that was sent and timed out may have been carried out`() async throws {
        let script = #"{ rules: [{ match: { connection: 1, request: 1 }, silence: true }] }"#
        try await withChannels(script: script, clientClock: .manual()) { scene in
            let call = Task {
                try await scene.client.create(.notStored, of: app, token: scene.token, within: .seconds(5))
            }
            await scene.untilRequests(1)
            await scene.clientLoop.advance(by: .seconds(5))
            let error = await ChannelScene.error { _ = try await call.value }
            #expect(error == .timedOut(after: .seconds(5), wasSent: true))
            // The client sends a PING, receives no answer, and connects again.
            await scene.clientLoop.advance(by: .seconds(10))
            _ = try await scene.create()
        }
    }

    @Test func `A call that could not be sent in time was not sent`() async throws {
        let script = #"{ rules: [{ on: "connect", latency: "1h" }] }"#
        try await withChannels(script: script, clock: .manual(), clientClock: .manual()) { scene in
            let call = Task {
                try await scene.client.create(.notStored, of: app, token: scene.token, within: .seconds(5))
            }
            await scene.untilCalls(1)
            await scene.clientLoop.advance(by: .seconds(5))
            let error = await ChannelScene.error { _ = try await call.value }
            #expect(error == .timedOut(after: .seconds(5), wasSent: false))
        }
    }

    @Test func `A call that is given up makes room for another`() async throws {
        // The provider allows one request at a time and never answers the first.
        let script = #"{ rules: [{ match: { request: 1 }, streams: 1, latency: "1h" }] }"#
        try await withChannels(script: script, clock: .manual(), clientClock: .manual()) { scene in
            let slow = Task {
                try await scene.client.create(.notStored, of: app, token: scene.token, within: .seconds(5))
            }
            await scene.untilRequests(1)
            let next = Task {
                try await scene.client.create(.notStored, of: app, token: scene.token, within: .seconds(60))
            }
            await scene.untilCalls(2)
            await scene.clientLoop.advance(by: .seconds(5))
            #expect(
                await ChannelScene.error { _ = try await slow.value } == .timedOut(after: .seconds(5), wasSent: true))
            _ = try await next.value
        }
    }

    @Test func `A cancelled call ends at once`() async throws {
        try await withChannels(script: #"{ rules: [{ silence: true }] }"#) { scene in
            let call = Task { try await scene.create() }
            await scene.untilRequests(1)
            call.cancel()
            #expect(await ChannelScene.error { _ = try await call.value } == .cancelled(wasSent: true))
            let early = Task {
                await waitForCancellation()
                return try await scene.create()
            }
            early.cancel()
            #expect(await ChannelScene.error { _ = try await early.value } == .cancelled(wasSent: false))
        }
    }

    @Test func `A closed client fails its calls and accepts no more`() async throws {
        let script = #"{ rules: [{ match: { request: 1 }, streams: 1, latency: "1h" }] }"#
        try await withChannels(script: script, clock: .manual()) { scene in
            let call = Task { try await scene.create() }
            await scene.untilRequests(1)
            let waiting = Task { try await scene.create() }
            await scene.untilCalls(2)
            await scene.client.close()
            #expect(await ChannelScene.error { _ = try await call.value } == .unanswered(.connectionLost))
            let error = await ChannelScene.error { _ = try await waiting.value }
            #expect(error == .closed)
            #expect(await ChannelScene.error { _ = try await scene.create() } == .closed)
            await scene.until { $0.connectionCount == 0 }
        }
    }

    @Test func `Errors contain no token`() {
        var text = ""
        dump(ChannelScene.token(), to: &text)
        #expect(!text.contains("eyJ"))
    }
}
