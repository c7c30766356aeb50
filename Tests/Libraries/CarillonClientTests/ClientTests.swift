import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Tests of a whole client with a scripted peer.
@Suite(.waits) struct ClientTests {
    private func client(
        _ endpoints: [String], _ change: (inout ClientSettings) -> Void = { _ in }
    ) throws -> CarillonClient {
        var settings = ClientSettings(endpoints: endpoints)
        // Longer than a busy machine takes, so that no message is sent again without a reason.
        settings.producer.ackTimeout = .seconds(600)
        change(&settings)
        return try CarillonClient(settings)
    }

    /// Stores messages as an earlier client has left them.
    private func store(_ pushes: [Push], in settings: SpoolSettings) async throws {
        let files = try SpoolFiles(settings)
        #expect(files.append(try pushes.map { try EncodedRequest($0) }).allSatisfy { $0 == nil })
        files.close()
        await files.executor.shutDown()
    }

    /// Starts an intake that is busy for ids with "a", and accepts all others.
    private func busyIntake(while isBusy: Locked<Bool>, accepted: EventRecorder<String>) async throws -> FakeIntake {
        try await FakeIntake { request in
            FakeIntake.answer(to: request) { id in
                if id.hasPrefix("a"), isBusy.withLock({ $0 }) {
                    return "{\"id\":\"\(id)\",\"status\":\"busy\",\"retry_after_ms\":20}"
                }
                accepted.record(id)
                return "{\"id\":\"\(id)\",\"status\":\"accepted\",\"seq\":7}"
            }
        }
    }

    private func push(_ id: String, app: String = "shop") -> Push {
        Push(id: id, app: app, to: .user("ada"), alert: "Hello")
    }

    /// Waits for the outcome of a push as a value.
    private func outcome(
        // The default of the client is shorter than a busy machine may take.
        of client: CarillonClient, _ id: String, deadline: Duration? = .seconds(100_000)
    ) async -> Result<PushReceipt, PushError> {
        do throws(PushError) {
            return .success(try await client.push(push(id), deadline: deadline))
        } catch {
            return .failure(error)
        }
    }

    @Test func `A push returns when it is acknowledged, and many at once are packed`() async throws {
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let client = try client([fake.endpoint])
        #expect(try await client.push(push("one")).status == .accepted)
        let results = await client.push(contentsOf: (0..<3_000).map { push("m-\($0)") })
        #expect(results.count == 3_000 && results.allSatisfy { (try? $0.get().status) == .accepted })
        let requests = fake.requests.events
        #expect(requests.map { $0.ids.count }.reduce(0, +) == 3_001 && requests.count < 300)
        #expect(requests.flatMap { $0.ids } == ["one"] + (0..<3_000).map { "m-\($0)" }, "in order")
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A refusal is thrown with its reason, and findings are in the receipt`() async throws {
        let fake = try await FakeIntake { request in
            FakeIntake.answer(to: request) { id in
                id == "bad"
                    ? "{\"id\":\"bad\",\"status\":\"rejected\",\"reason\":\"unknown_app\",\"detail\":\"no\"}"
                    : "{\"id\":\"\(id)\",\"status\":\"duplicate\",\"seq\":3,\"findings\":[{\"code\":\"c\",\"path\":\"p\",\"detail\":\"d\"}]}"
            }
        }
        let client = try client([fake.endpoint])
        #expect(await outcome(of: client, "bad") == .failure(.refused(PushRefusal(.unknownApp, detail: "no"))))
        let receipt = try await client.push(push("good"))
        #expect(receipt.status == .duplicate && receipt.number == 3 && receipt.findings.count == 1)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `The client takes the next endpoint if one refuses, and again if it is gone`() async throws {
        let dead = try #require(TakenPort())
        let (first, second) = (
            try await FakeIntake(script: FakeIntake.accepting), try await FakeIntake(script: FakeIntake.accepting)
        )
        let client = try client([dead.endpoint, first.endpoint, second.endpoint])
        #expect(try await client.push(push("a")).status == .accepted)
        #expect(first.requests.events.count == 1 && second.requests.events.isEmpty)
        await first.stop()
        #expect(try await client.push(push("b")).status == .accepted)
        #expect(second.requests.events.flatMap { $0.ids } == ["b"])
        await client.shutdown()
        await second.stop()
        withExtendedLifetime(dead) {}
    }

    @Test func `A silent endpoint is left, and its messages go to the next one under their ids`() async throws {
        let (silent, other) = (
            try await FakeIntake { _ in nil }, try await FakeIntake(script: FakeIntake.accepting)
        )
        let client = try client([silent.endpoint, other.endpoint]) { $0.producer.ackTimeout = .milliseconds(200) }
        #expect(try await client.push(push("a")).status == .accepted)
        #expect(silent.requests.events.first?.ids == ["a"] && other.requests.events.first?.ids == ["a"])
        #expect(silent.requests.events.first?.envelopes == other.requests.events.first?.envelopes)
        await client.shutdown()
        await silent.stop()
        await other.stop()
    }

    @Test func `A busy message is sent again until it is accepted`() async throws {
        let count = Locked(0)
        let fake = try await FakeIntake { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number < 3 else { return FakeIntake.accepting(request) }
            return FakeIntake.answer(to: request) { "{\"id\":\"\($0)\",\"status\":\"busy\",\"retry_after_ms\":20}" }
        }
        let client = try client([fake.endpoint])
        #expect(try await client.push(push("a")).status == .accepted)
        #expect(fake.requests.events.map { $0.ids } == [["a"], ["a"], ["a"]])
        await client.shutdown()
        await fake.stop()
    }

    @Test func `At the deadline, a push says whether it may have been accepted`() async throws {
        let fake = try await FakeIntake { _ in nil }
        // A busy machine may not have connected by the first deadlines.
        let deadlines = [0.3, 3, 30, 300].map { Duration.seconds($0) }
        let sending = try client([fake.endpoint]) { $0.producer.drainTimeout = .zero }
        var wasSent = false
        for (number, deadline) in deadlines.enumerated() where !wasSent {
            switch await outcome(of: sending, "a-\(number)", deadline: deadline) {
            case .failure(.unknown): wasSent = true
            case .failure(.unavailable): break
            case let other: Issue.record("\(other)")
            }
        }
        #expect(wasSent)
        await sending.shutdown()
        await fake.stop()
        let taken = try #require(TakenPort())
        let nowhere = try client([taken.endpoint])
        var said = ""
        for deadline in deadlines where !said.contains("refused") {
            guard case .failure(.unavailable(let detail)) = await outcome(of: nowhere, "a", deadline: deadline) else {
                Issue.record("not unavailable")
                return
            }
            said = detail
        }
        #expect(said.contains("refused"), "\(said)")
        await nowhere.shutdown()
        withExtendedLifetime(taken) {}
    }

    @Test func `A cancelled push throws at each place where it may wait`() async throws {
        let fake = try await FakeIntake { $0.ids == ["first"] ? nil : FakeIntake.accepting($0) }
        let client = try client([fake.endpoint]) {
            $0.producer.window = 1
            $0.producer.drainTimeout = .zero
        }
        // Before it is handed in.
        let early = Task { () -> Result<PushReceipt, PushError> in
            withUnsafeCurrentTask { $0?.cancel() }
            return await outcome(of: client, "early")
        }
        #expect(await early.value == .failure(.cancelled(inDoubt: false)))
        // After it was sent.
        let sent = Task { await outcome(of: client, "first") }
        await fake.requests.wait(count: 1)
        // While it waits for the window.
        let waiting = Task { await outcome(of: client, "second") }
        await wait(while: await client.body.producer.machine.waiting == 0)
        waiting.cancel()
        #expect(await waiting.value == .failure(.cancelled(inDoubt: false)))
        sent.cancel()
        #expect(await sent.value == .failure(.cancelled(inDoubt: true)))
        #expect(fake.requests.events.map { $0.ids } == [["first"]])
        // The room of both is free again.
        #expect(try await client.push(push("third")).status == .accepted)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `The late ack of a cancelled push does not answer that of another app`() async throws {
        let fake = try await FakeIntake { _ in nil }
        let client = try client([fake.endpoint])
        let first = Task { await outcome(of: client, "x") }
        let request = await fake.requests.wait(count: 1)[0]
        first.cancel()
        #expect(await first.value == .failure(.cancelled(inDoubt: true)))
        let second = Task { try await client.push(push("x", app: "news"), deadline: .seconds(100_000)) }
        await wait(while: await client.body.producer.machine.isIdle)
        func ack(_ number: Int) -> [[UInt8]] {
            FakeIntake.answer(to: request) { "{\"id\":\"\($0)\",\"status\":\"accepted\",\"seq\":\(number)}" }
        }
        await fake.send(ack(1), to: request.peer)
        let next = await fake.requests.wait(count: 2)[1]
        #expect(next.envelopes.allSatisfy { $0.contains("news") })
        await fake.send(ack(2), to: request.peer)
        #expect(try await second.value.number == 2)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `run() flushes when it is cancelled, and ends the client`() async throws {
        let fake = try await FakeIntake { _ in nil }
        let client = try client([fake.endpoint])
        let running = Task { try await client.run() }
        let pushing = Task { await outcome(of: client, "a") }
        let request = await fake.requests.wait(count: 1)[0]
        running.cancel()
        await fake.send(FakeIntake.accepting(request) ?? [], to: request.peer)
        #expect(try await pushing.value.get().status == .accepted)
        try await running.value
        #expect(await outcome(of: client, "b") == .failure(.closed(inDoubt: false)))
        await #expect(throws: ClientError.alreadyRunning) { try await client.run() }
        await fake.stop()
    }

    @Test func `At the end, a push without an answer is in doubt, and one that was not sent is not`() async throws {
        let fake = try await FakeIntake { _ in nil }
        let client = try client([fake.endpoint]) {
            $0.producer.window = 1
            $0.producer.drainTimeout = .milliseconds(50)
        }
        let sent = Task { await outcome(of: client, "a") }
        await fake.requests.wait(count: 1)
        let waiting = Task { await outcome(of: client, "b") }
        await wait(while: await client.body.producer.machine.waiting == 0)
        await client.shutdown()
        #expect(await sent.value == .failure(.closed(inDoubt: true)))
        #expect(await waiting.value == .failure(.closed(inDoubt: false)))
        await fake.stop()
    }

    @Test func `A client ends in its time, however short that is`() async throws {
        let fake = try await FakeIntake { _ in nil }
        let client = try client([fake.endpoint]) { $0.producer.drainTimeout = .nanoseconds(1) }
        let sent = Task { await outcome(of: client, "a", deadline: .seconds(100_000)) }
        await fake.requests.wait(count: 1)
        await client.shutdown()
        #expect(await sent.value == .failure(.closed(inDoubt: true)))
        await fake.stop()
    }

    @Test func `Garbage from the peer changes nothing`() async throws {
        var random = SeededRandom(seed: 14)
        let noise = (0..<200).map { _ in
            (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        // A client that has connected anew asks again, and has another name.
        let asked = Locked(false)
        let fake = try await FakeIntake { request in
            asked.withLock { exchange(&$0, with: true) } ? FakeIntake.accepting(request) : nil
        }
        let client = try client([fake.endpoint])
        let pushing = Task { await outcome(of: client, "a") }
        let request = await fake.requests.wait(count: 1)[0]
        for bytes in noise {
            await fake.send([bytes], to: request.peer)
            await fake.send([Array("ack/1".utf8), bytes], to: request.peer)
            await fake.send([Array("ack-batch/1".utf8), bytes + [10] + bytes], to: request.peer)
            await fake.send([[], bytes, bytes], to: request.peer)
        }
        await fake.send(Array(repeating: [], count: 14), to: request.peer)
        await fake.send(
            [Array("ack/1".utf8), Array("{\"id\":\"other\",\"status\":\"accepted\",\"seq\":7}".utf8)], to: request.peer)
        await fake.send(FakeIntake.accepting(request) ?? [], to: request.peer)
        let result = await pushing.value
        #expect(result == .success(PushReceipt(.accepted, number: 7)))
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A bounded number of pushes waits`() async throws {
        let fake = try await FakeIntake { _ in nil }
        let client = try client([fake.endpoint]) {
            $0.producer.window = 2
            $0.producer.maxWaiting = 3
            $0.producer.drainTimeout = .zero
        }
        let tasks = (0..<20).map { number in Task { await outcome(of: client, "m-\(number)") } }
        await fake.requests.wait { $0.flatMap { $0.ids }.count >= 2 }
        await wait(while: await client.body.producer.machine.items.count > 5)
        await client.shutdown()
        var outcomes: [Result<PushReceipt, PushError>] = []
        for task in tasks { outcomes.append(await task.value) }
        #expect(outcomes.filter { if case .failure(.busy) = $0 { true } else { false } }.count == 15)
        #expect(outcomes.filter { if case .failure(.closed) = $0 { true } else { false } }.count == 5)
        await fake.stop()
    }

    @Test func `A message is cancelled, and an unknown one is refused`() async throws {
        let fake = try await FakeIntake { request in
            FakeIntake.answer(to: request) {
                $0 == "known"
                    ? "{\"id\":\"known\",\"status\":\"cancelled\",\"sent\":1,\"cancelled\":2}"
                    : "{\"id\":\"\($0)\",\"status\":\"rejected\",\"reason\":\"unknown_message\",\"detail\":\"x\"}"
            }
        }
        let client = try client([fake.endpoint])
        #expect(try await client.cancel("known", app: "shop") == .cancelled(sent: 1, cancelled: 2))
        await #expect(throws: PushError.refused(PushRefusal(.unknownMessage, detail: "x"))) {
            try await client.cancel("other", app: "shop")
        }
        #expect(fake.requests.events.map { $0.kind } == ["cancel/1", "cancel/1"])
        await client.shutdown()
        await fake.stop()
    }

    @Test func `Without Carillon, pushes go to the spool, and to Carillon when it is back`() async throws {
        let directory = try TemporaryDirectory()
        let taken = try #require(TakenPort())
        let refused = EventRecorder<String>()
        let client = try client([taken.endpoint]) {
            $0.spool = SpoolSettings(directory: "\(directory.path)/spool")
            $0.spool?.answerWithin = .milliseconds(100)
            $0.spool?.onRefused = { id, _, _ in refused.record(id) }
        }
        for number in 0..<50 { #expect(try await client.push(push("m-\(number)")).status == .spooled) }
        #expect(client.spooled == 50)
        let back = try await FakeIntake(at: taken.endpoint) { request in
            FakeIntake.answer(to: request) {
                $0 == "m-7"
                    ? "{\"id\":\"m-7\",\"status\":\"rejected\",\"reason\":\"bad_token\",\"detail\":\"x\"}"
                    : "{\"id\":\"\($0)\",\"status\":\"accepted\",\"seq\":7}"
            }
        }
        await back.requests.wait { $0.flatMap { $0.ids }.count >= 50 }
        await wait(while: client.spooled > 0)
        #expect(back.requests.events.flatMap { $0.ids } == (0..<50).map { "m-\($0)" }, "in order, and once")
        #expect(refused.events == ["m-7"])
        // On a slow machine the answer can be too late, so that the push goes to the spool, and arrives from there.
        var number = 0
        repeat {
            await wait(while: await client.body.producer.spooling?.apps.contains(IDKey("shop")) != false)
            number += 1
        } while try await client.push(push("direct-\(number)")).status != .accepted
        await client.shutdown()
        await back.stop()
    }

    @Test func `While one app is busy, the messages of another one leave the spool, or do not go there`() async throws {
        let directory = try TemporaryDirectory()
        var settings = SpoolSettings(directory: "\(directory.path)/spool")
        settings.answerWithin = .seconds(100_000)
        let b = otherApp(than: "a")
        try await store(
            (0..<300).map { push("a-\($0)", app: "a") } + (0..<5).map { push("b-\($0)", app: b) }, in: settings)
        let isBusy = Locked(true)
        let accepted = EventRecorder<String>()
        let fake = try await busyIntake(while: isBusy, accepted: accepted)
        let client = try client([fake.endpoint]) { [settings] in
            $0.spool = settings
            $0.producer.window = 100
        }
        await accepted.wait(count: 5)
        #expect(accepted.events == (0..<5).map { "b-\($0)" })
        // The acks may be under way.
        await wait(while: await client.body.producer.spooling?.apps.contains(IDKey(b)) != false)
        #expect(try await client.push(push("b-5", app: b), deadline: .seconds(100_000)).status == .accepted)
        #expect(try await client.push(push("a-300", app: "a")).status == .spooled)
        // Most of the messages of the busy app wait on the disk.
        await wait(while: await client.body.producer.machine.items.count > 6)
        isBusy.withLock { $0 = false }
        await wait(while: client.spooled > 0)
        let ids = accepted.events.filter { $0.hasPrefix("a") }
        #expect(ids.count == 301 && Set(ids).count == 301)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `The large messages of a busy app leave room for those of another one`() async throws {
        let directory = try TemporaryDirectory()
        let settings = SpoolSettings(directory: "\(directory.path)/spool")
        let payload = Array("{\"x\":\"\(String(repeating: "x", count: 100_000))\"}".utf8)
        try await store(
            (0..<40).map { Push(id: "a-\($0)", app: "a", to: .user("ada"), payload: payload) }
                + (0..<5).map { push("b-\($0)", app: "b") },
            in: settings)
        let isBusy = Locked(true)
        let accepted = EventRecorder<String>()
        let fake = try await busyIntake(while: isBusy, accepted: accepted)
        let client = try client([fake.endpoint]) {
            $0.spool = settings
            $0.producer.windowBytes = 1 << 19
            $0.producer.maxWaitingBytes = 1 << 20
        }
        await accepted.wait(count: 5)
        #expect(accepted.events == (0..<5).map { "b-\($0)" })
        // Those of the busy app take half of the room, and one message more.
        await wait(while: await client.body.producer.machine.waitingBytes > 1 << 19 + 200_000)
        isBusy.withLock { $0 = false }
        await wait(while: client.spooled > 0)
        let ids = accepted.events.filter { $0.hasPrefix("a") }
        #expect(ids.count == 40 && Set(ids).count == 40)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `Messages that were given back arrive, however much is between them and the start of their file`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let settings = SpoolSettings(directory: "\(directory.path)/spool")
        let (a, b) = (IDKey("a"), otherApp(than: "a"))
        try await store(
            (0..<200).map { push("b-\($0)", app: b) } + (0..<40).map { push("a-\($0)", app: "a") }, in: settings)
        enum Answer { case none, busy, accepted }
        let answer = Locked(Answer.none)
        let accepted = EventRecorder<String>()
        let busy = { @Sendable (id: String) in "{\"id\":\"\(id)\",\"status\":\"busy\",\"retry_after_ms\":20}" }
        let fake = try await FakeIntake { request in
            let isA = request.ids.contains { $0.hasPrefix("a") }
            switch isA ? answer.withLock({ $0 }) : .accepted {
            case .none: return nil
            case .busy: return FakeIntake.answer(to: request, status: busy)
            case .accepted:
                for id in request.ids { accepted.record(id) }
                return FakeIntake.accepting(request)
            }
        }
        let client = try client([fake.endpoint]) {
            $0.spool = settings
            $0.producer.window = 20
            $0.producer.windowBytes = 400
        }
        // Several are under way when the first answer is busy, so that some go back to the spool.
        let sent = await fake.requests.wait { $0.flatMap { $0.ids }.filter { $0.hasPrefix("a") }.count >= 3 }
        answer.withLock { $0 = .busy }
        for request in sent where request.ids[0].hasPrefix("a") {
            await fake.send(FakeIntake.answer(to: request, status: busy), to: request.peer)
        }
        // One is left in the producer, which finds out when there is room.
        await wait(while: await client.body.producer.spooling?.isIdle(but: a) != true)
        answer.withLock { $0 = .accepted }
        await wait(while: client.spooled > 0)
        let ids = accepted.events.filter { $0.hasPrefix("a") }
        #expect(ids.count == 40 && Set(ids).count == 40)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A message that does not fit beside those of a busy app goes out alone`() async throws {
        let directory = try TemporaryDirectory()
        let settings = SpoolSettings(directory: "\(directory.path)/spool")
        let payload = Array("{\"x\":\"\(String(repeating: "x", count: 700))\"}".utf8)
        func large(_ app: String) -> Push { Push(id: app, app: app, to: .user("ada"), payload: payload) }
        let b = otherApp(than: "a")
        try await store([large("a")], in: settings)
        let accepted = EventRecorder<String>()
        let fake = try await FakeIntake { request in
            FakeIntake.answer(to: request) { id in
                if id == "a" { return "{\"id\":\"a\",\"status\":\"busy\",\"retry_after_ms\":60000}" }
                accepted.record(id)
                return "{\"id\":\"\(id)\",\"status\":\"accepted\",\"seq\":7}"
            }
        }
        let client = try client([fake.endpoint]) {
            $0.spool = settings
            $0.producer.maxWaitingBytes = 1_000
            $0.producer.drainTimeout = .zero
        }
        await wait(while: await client.body.producer.machine.busy.isEmpty)
        #expect(try await client.push(large(b)).status == .spooled)
        await accepted.wait(count: 1)
        await wait(while: client.spooled > 1)
        #expect(accepted.events == [b] && client.spooled == 1)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `The client waits longer for each connection that ends without an ack`() async throws {
        let answers = Locked(false)
        let fake = try await FakeIntake { request in answers.withLock { $0 } ? FakeIntake.accepting(request) : nil }
        let client = try client([fake.endpoint, fake.endpoint]) { $0.producer.ackTimeout = .milliseconds(50) }
        let pushing = Task { await outcome(of: client, "a") }
        await wait(while: await client.body.producer.endpoints.failures < 4)
        answers.withLock { $0 = true }
        #expect(try await pushing.value.get().status == .accepted)
        #expect(await client.body.producer.endpoints.failures == 0)
        await client.shutdown()
        await fake.stop()
    }

    /// Returns an app that a spool tells apart from another one.
    private func otherApp(than app: String) -> String {
        var counts = AppCounts()
        counts.add(IDKey(app))
        return (0..<100).map { "b\($0)" }.first { !counts.contains(IDKey($0)) } ?? "b"
    }

    @Test func `What is under way at the end goes to the spool, and the next client sends it`() async throws {
        let directory = try TemporaryDirectory()
        let silent = try await FakeIntake { _ in nil }
        let first = try client([silent.endpoint]) {
            $0.spool = SpoolSettings(directory: "\(directory.path)/spool")
            $0.spool?.answerWithin = .seconds(60)
            $0.producer.drainTimeout = .milliseconds(50)
        }
        let pushing = Task { await outcome(of: first, "a") }
        await silent.requests.wait(count: 1)
        await first.shutdown()
        #expect(try await pushing.value.get().status == .spooled)
        await silent.stop()
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let second = try client([fake.endpoint]) { $0.spool = SpoolSettings(directory: "\(directory.path)/spool") }
        #expect(second.spooled == 1)
        let running = Task { try await second.run() }
        await fake.requests.wait(count: 1)
        #expect(fake.requests.events[0].ids == ["a"])
        await wait(while: second.spooled > 0)
        running.cancel()
        try await running.value
        await fake.stop()
    }

    @Test func `With a message that goes to the spool, the younger ones of its app go there, too`() async throws {
        let directory = try TemporaryDirectory()
        let taken = try #require(TakenPort())
        let client = try client([taken.endpoint]) {
            $0.spool = SpoolSettings(directory: "\(directory.path)/spool")
            $0.spool?.answerWithin = .seconds(100_000)
        }
        let first = Task { await outcome(of: client, "first", deadline: .milliseconds(500)) }
        await wait(while: await client.body.producer.machine.waiting == 0 && client.spooled == 0)
        // It would wait for a day.
        #expect(try await outcome(of: client, "second").get().status == .spooled)
        #expect(try await first.value.get().status == .spooled)
        let back = try await FakeIntake(at: taken.endpoint, script: FakeIntake.accepting)
        await back.requests.wait { $0.flatMap { $0.ids }.count >= 2 }
        #expect(back.requests.events.flatMap { $0.ids } == ["first", "second"])
        await client.shutdown()
        await back.stop()
    }

    @Test func `Messages of the spool that are under way at the end stay in the spool`() async throws {
        let directory = try TemporaryDirectory()
        let settings = SpoolSettings(directory: "\(directory.path)/spool")
        let files = try SpoolFiles(settings)
        let requests = try (0..<5).map { try EncodedRequest(push("m-\($0)")) }
        #expect(files.append(requests).allSatisfy { $0 == nil })
        files.close()
        await files.executor.shutDown()
        // Everything is read and sent, and nothing is answered.
        let silent = try await FakeIntake { _ in nil }
        let first = try client([silent.endpoint]) {
            $0.spool = settings
            $0.producer.drainTimeout = .zero
        }
        await silent.requests.wait { $0.flatMap { $0.ids }.count >= 5 }
        await first.shutdown()
        await silent.stop()
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let second = try client([fake.endpoint]) { $0.spool = settings }
        #expect(second.spooled == 5)
        await fake.requests.wait { $0.flatMap { $0.ids }.count >= 5 }
        #expect(fake.requests.events.flatMap { $0.ids } == (0..<5).map { "m-\($0)" })
        await second.shutdown()
        await fake.stop()
    }

    @Test func `Messages that are too old leave the spool and are refused, and the others go out`() async throws {
        let directory = try TemporaryDirectory()
        let refused = EventRecorder<String>()
        var settings = SpoolSettings(directory: "\(directory.path)/spool")
        settings.onRefused = { id, _, refusal in refused.record("\(id) \(refusal.reason.rawValue)") }
        let files = try SpoolFiles(settings)
        let old = WallTime.current() - settings.maxAge
        _ = files.append(try (0..<3).map { try EncodedRequest(push("old-\($0)")) }, now: old)
        _ = files.append([try EncodedRequest(push("new"))])
        files.close()
        await files.executor.shutDown()
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let client = try client([fake.endpoint]) { $0.spool = settings }
        await wait(while: client.spooled > 0)
        #expect(fake.requests.events.flatMap { $0.ids } == ["new"])
        #expect(refused.events == (0..<3).map { "old-\($0) too_old" })
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A message from the spool that is sent again and again is given up when it is too old`() async throws {
        // On a slow machine the message is too old before it is sent; then it gets more time.
        var limit = Duration.milliseconds(200)
        var isSent = false
        while !isSent {
            let directory = try TemporaryDirectory()
            let refused = EventRecorder<PushRefusal.Reason>()
            var settings = SpoolSettings(directory: "\(directory.path)/spool")
            settings.answerWithin = .milliseconds(1)
            settings.maxAge = limit
            settings.onRefused = { _, _, refusal in refused.record(refusal.reason) }
            try await store([push("a")], in: settings)
            let silent = try await FakeIntake { _ in nil }
            let client = try client([silent.endpoint]) { $0.spool = settings }
            await refused.wait(count: 1)
            #expect(refused.events == [.tooOld])
            await wait(while: client.spooled > 0)
            isSent = !silent.requests.events.isEmpty
            limit = limit * 2
            await client.shutdown()
            await silent.stop()
        }
    }

    @Test func `A damaged message of the spool is logged and counted, and the others go out`() async throws {
        let directory = try TemporaryDirectory()
        let settings = SpoolSettings(directory: "\(directory.path)/spool")
        try await store((0..<5).map { push("m-\($0)") }, in: settings)
        let path = SpoolFile.path(1, in: settings.directory)
        let bytes = DiskFile.read(path, from: 0, count: 1 << 20)
        let second = try #require(SpoolRecord.read(bytes, at: 0)).end
        var damaged = bytes
        damaged[second + 30] ^= 1
        _ = try directory.write("spool/\(path.split(separator: "/").last ?? "")", bytes: damaged)
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let lines = EventRecorder<String>()
        let client = try client([fake.endpoint]) {
            $0.spool = settings
            $0.log = ClientLog { level, message, fields in lines.record("\(level.rawValue) \(message) \(fields)") }
        }
        await fake.requests.wait { $0.flatMap { $0.ids }.count >= 4 }
        #expect(fake.requests.events.flatMap { $0.ids } == ["m-0", "m-2", "m-3", "m-4"])
        let said = await lines.wait { $0.contains { $0.hasPrefix("error messages of the spool are damaged") } }
        let line = said.first { $0.hasPrefix("error messages of the spool are damaged") }
        #expect(line?.contains("\"first\": \"2\"") == true && line?.contains("\"count\": \"1\"") == true)
        await wait(while: client.spooled > 0)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A cancelled list ends, whenever its cancellation comes`() async throws {
        let silent = try await FakeIntake { _ in nil }
        let client = try client([silent.endpoint]) { $0.producer.drainTimeout = .zero }
        let lists = (0..<200).map { list in
            Task { [self] in
                await client.push(
                    contentsOf: (0..<50).map { push("l-\(list)-\($0)") }, deadline: .seconds(100_000))
            }
        }
        for (number, list) in lists.enumerated() {
            for _ in 0..<(number % 7) { await pace() }
            list.cancel()
        }
        for list in lists {
            for result in await list.value {
                switch result {
                case .failure(.cancelled), .failure(.busy): break
                default: Issue.record("\(result)")
                }
            }
        }
        await client.shutdown()
        await silent.stop()
    }
}

extension Spooling {
    /// Whether one record is under way, and all others that are left are parked ones of an app.
    fileprivate func isIdle(but app: IDKey) -> Bool { total == 1 && !hasUnread && parked == [app] }
}
