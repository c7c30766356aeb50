import Glibc
import PushLoop
import PushTransport
import Testing

/// The descriptor of a socket fires once for many messages, and not at all for what another call noticed first.
@Suite struct ZMQDescriptorTests {
    @Test(arguments: ["inproc://waiting", "tcp://127.0.0.1:*"])
    func oneAtATimeTakesAllThatWait(endpoint: String) async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) { $0.turn.messages = 1 }
            let push = try await world.peer(.push, on: world.second)
            try await pull.pause()
            let bound = try await pull.bind(endpoint)
            try await push.connect(bound)
            for number in 0..<50 {
                #expect(try await push.sendPatiently([ZMQPeer.numbered(number, size: 8)]) == .sent)
            }
            try await pull.resume()
            for number in 0..<50 {
                let message = try #require(await pull.receive(), "message \(number) of 50 never came")
                #expect(ZMQPeer.number(message.frames[0]) == number)
            }
            #expect(await pull.batchSizes.allSatisfy { $0 == 1 })
        }
    }

    /// The handler stops after each message; nothing new arrives when it goes on.
    @Test func pausedInTheHandler() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            try await pull.with { socket in
                socket.onBatchEnd = { [unowned socket] in socket.pauseReceiving() }
            }
            try await pull.pause()
            try await push.connect(try await pull.bind())
            for number in 0..<3 {
                #expect(try await push.sendPatiently([ZMQPeer.numbered(number, size: 8)]) == .sent)
            }
            var received = 0
            while received < 3 {
                try await pull.resume()
                let message = try #require(await pull.receive())
                #expect(ZMQPeer.number(message.frames[0]) == received)
                received += 1
                received += await pull.takeReceived().count
            }
        }
    }

    /// A message arrives while the loop is busy; then the loop sends, which takes the descriptor's signal away.
    @Test func messageThatArrivesAroundASend() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router, on: world.second)
            let dealer = try await world.peer(.dealer) { $0.routingID = Array("dealer".utf8) }
            try await router.bind("inproc://around")
            try await dealer.connect("inproc://around")
            #expect(try await dealer.send("hello") == .sent)
            #expect(await router.receive()?.texts == ["dealer", "hello"])

            for round in 0..<20 {
                let isThere = Locked(false)
                async let busy = dealer.with { socket in
                    // Over inproc a message has arrived when its send returns. Then long enough for libzmq to look at
                    // its mailbox at the next send, which it does about once a millisecond.
                    while !isThere.withLock({ $0 }) { sched_yield() }
                    let start = MonotonicTime.current()
                    while MonotonicTime.current() - start < .milliseconds(5) {}
                    return socket.send(Array("out \(round)".utf8))
                }
                #expect(try await router.send("dealer", "in \(round)") == .sent)
                isThere.withLock { $0 = true }
                #expect(try await busy == .sent)
                let message = try #require(await dealer.receive(), "the message of round \(round) was never noticed")
                #expect(message.texts == ["in \(round)"])
                #expect(await router.receive()?.texts == ["dealer", "out \(round)"])
            }
        }
    }

    /// What is there before anyone listens is delivered when the handler comes.
    @Test func messagesBeforeTheHandler() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push)
            try await pull.with { $0.onMessage = nil }
            try await pull.bind("inproc://early")
            try await push.connect("inproc://early")
            #expect(try await push.send("early") == .sent)
            let text: String? = await withCheckedContinuation { continuation in
                Task {
                    try await pull.with { socket in
                        var waiting: CheckedContinuation<String?, Never>? = continuation
                        socket.onMessage = { message in
                            waiting.take()?.resume(returning: String(decoding: message.copied(0), as: UTF8.self))
                        }
                    }
                }
            }
            #expect(text == "early")
        }
    }

    @Test func aFloodLeavesTheLoopToOthers() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) {
                $0.turn.messages = 10
                $0.receiveHighWaterMark = 2000
            }
            let push = try await world.peer(.push, on: world.second) { $0.sendHighWaterMark = 2000 }
            try await pull.pause()
            try await pull.bind("inproc://flood")
            try await push.connect("inproc://flood")
            #expect(try await push.fill(upTo: 2000, size: 8).accepted == 2000)
            let before = await pull.loop.run { [loop = pull.loop] in loop.tickCount }
            try await pull.resume()
            for _ in 0..<2000 { _ = try #require(await pull.receive()) }
            let after = await pull.loop.run { [loop = pull.loop] in loop.tickCount }
            let sizes = await pull.batchSizes
            #expect(sizes.reduce(0, +) == 2000)
            #expect(sizes.max() == 10)
            #expect(after - before >= 199, "200 batches of 10 took \(after - before) ticks")
        }
    }

    enum Limit: CaseIterable {
        case bytes, lines, time
    }

    /// A few messages may take as long as many: each limit leaves the loop to others, and nothing waits forever.
    @Test(arguments: Limit.allCases) func aFewLargeMessagesLeaveTheLoopToOthers(_ limit: Limit) async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) {
                switch limit {
                case .bytes: $0.turn.bytes = 2000
                case .lines: $0.turn.lines = 10
                case .time: $0.turn.time = .zero
                }
            }
            let push = try await world.peer(.push, on: world.second)
            try await pull.pause()
            try await pull.bind("inproc://large")
            try await push.connect("inproc://large")
            #expect(try await push.fill(upTo: 50, size: 1500).accepted == 50)
            try await pull.with { socket in
                guard limit == .lines, let take = socket.onMessage else { return }
                socket.onMessage = { [unowned socket] message in
                    take(message)
                    socket.took(lines: 6)
                }
            }
            let before = await pull.loop.run { [loop = pull.loop] in loop.tickCount }
            try await pull.resume()
            for number in 0..<50 {
                #expect(ZMQPeer.number(try #require(await pull.receive()).frames[0]) == number)
            }
            let after = await pull.loop.run { [loop = pull.loop] in loop.tickCount }
            let largest = await pull.batchSizes.max()
            #expect(largest == (limit == .time ? 1 : 2))
            #expect(after - before >= 24, "50 messages took \(after - before) ticks")
        }
    }

    /// The loop sleeps when nothing happens: a descriptor that stays readable must not turn it.
    @Test func anIdleSocketDoesNotTurnTheLoop() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            try await push.connect(try await pull.bind())
            #expect(try await push.sendPatiently([[1]]) == .sent)
            _ = try #require(await pull.receive())
            try await pull.pause()
            #expect(try await push.sendPatiently([[2]]) == .sent)
            let ticks = await Self.ticks(of: pull.loop, during: 20)
            #expect(ticks < 200, "\(ticks) ticks for 20 timers")
        }
    }

    /// The ticks that a loop needs to fire a few timers one after the other.
    static func ticks(of loop: EventLoop, during timers: Int) async -> UInt64 {
        let before = await loop.run { loop.tickCount }
        for _ in 0..<timers {
            await withCheckedContinuation { continuation in
                loop.execute { loop.schedule(after: .milliseconds(5)) { continuation.resume() } }
            }
        }
        return await loop.run { loop.tickCount } - before
    }
}
