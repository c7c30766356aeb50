import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// ROUTER: the socket that producers talk to, and the frames of messages.
@Suite(.waits) struct ZMQRouterTests {
    @Test func unknownPeerIsUnreachableIfMandatory() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.routerMandatory = true }
            try await router.bind()
            #expect(try await router.send("nobody", "ack") == .unreachable)
            #expect(try await router.send("nobody", "", "ack") == .unreachable)
            // The socket is none the worse for it.
            let dealer = try await world.peer(.dealer, on: world.second) { $0.routingID = Array("d".utf8) }
            try await dealer.connect(try await router.bind())
            #expect(try await dealer.send("hello") == .sent)
            #expect(await router.receive()?.texts == ["d", "hello"])
            #expect(try await router.send("d", "ack") == .sent)
            #expect(await dealer.receive()?.texts == ["ack"])
        }
    }

    @Test func unknownPeerIsSilenceIfNot() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.routerMandatory = false }
            try await router.bind()
            #expect(try await router.send("nobody", "ack") == .sent)
        }
    }

    /// One peer does not read: its queue is full, others are served, and the loop does not turn for nothing.
    @Test func fullPeerBlocksNobodyElse() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.sendHighWaterMark = 5 }
            try await router.bind("inproc://router")
            let slow = try await world.peer(.dealer, on: world.second) {
                $0.routingID = Array("slow".utf8)
                $0.receiveHighWaterMark = 5
            }
            let quick = try await world.peer(.dealer, on: world.second) { $0.routingID = Array("quick".utf8) }
            for (dealer, name) in [(slow, "slow"), (quick, "quick")] {
                try await dealer.connect("inproc://router")
                #expect(try await dealer.send("hello") == .sent)
                #expect(await router.receive()?.texts == [name, "hello"])
            }
            try await slow.pause()

            var accepted = 0
            while accepted < 100, try await router.send("slow", "\(accepted)") == .sent { accepted += 1 }
            #expect(accepted == 10, "both marks together, over inproc")
            // The owner tries again whenever it is told to.
            try await router.with { socket in
                socket.onWritable = { [unowned socket] in
                    _ = socket.send { outbox in
                        outbox.add("slow")
                        outbox.add("late")
                    }
                }
            }
            #expect(try await router.send("slow", "again") == .wouldBlock)
            let ticks = await ZMQDescriptorTests.ticks(of: router.loop, during: 20)
            // A loop that is kept turning turns a hundred thousand times; a starved one wakes up a few times for nothing.
            #expect(ticks < 5000, "\(ticks) ticks for 20 timers: a full peer keeps the loop turning")
            #expect(try await router.send("quick", "ack") == .sent)
            #expect(await quick.receive()?.texts == ["ack"])

            try await slow.resume()
            for number in 0..<accepted {
                #expect(await slow.receive()?.texts == ["\(number)"])
            }
            #expect(await slow.receive()?.texts == ["late"])
        }
    }

    /// To find that a queue is full, libzmq processes all activity of the socket, and the descriptor does not fire for it
    /// any more. Over inproc, a message and its signal are there when the send returns, so the order is certain.
    @Test func aSendToAFullPeerHidesNoMessageOfAnother() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.sendHighWaterMark = 5 }
            try await router.bind("inproc://router")
            let full = try await world.peer(.dealer) {
                $0.routingID = Array("full".utf8)
                $0.receiveHighWaterMark = 5
            }
            let other = try await world.peer(.dealer) { $0.routingID = Array("other".utf8) }
            for (dealer, name) in [(full, "full"), (other, "other")] {
                try await dealer.connect("inproc://router")
                #expect(try await dealer.send("hello") == .sent)
                #expect(await router.receive()?.texts == [name, "hello"])
            }
            try await full.pause()
            while try await router.send("full", "filling") == .sent {}
            for round in 0..<20 {
                // All three sockets are on one loop, so nothing reads between these two calls.
                let results = try await router.with { socket in
                    let asked = try other.assumeIsolated { try $0.send("request \(round)") }
                    let blocked = socket.send { outbox in
                        outbox.add("full")
                        outbox.add("late")
                    }
                    return [asked, blocked]
                }
                #expect(results == [.sent, .wouldBlock])
                _ = await ZMQDescriptorTests.ticks(of: router.loop, during: 2)
                try #require(await router.takeReceived().map(\.texts) == [["other", "request \(round)"]])
            }
        }
    }

    /// A client with a fixed id comes back while its old connection still seems alive.
    @Test(arguments: [true, false])
    func handover(allowed: Bool) async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.routerHandover = allowed }
            let endpoint = try await router.bind()
            let old = try await world.peer(.dealer, on: world.second) {
                $0.routingID = Array("client".utf8)
                // Put out, it would come back and put the new one out in its turn.
                $0.reconnectInterval = .seconds(3600)
            }
            try await old.connect(endpoint)
            #expect(try await old.send("from the old") == .sent)
            #expect(await router.receive()?.texts == ["client", "from the old"])

            let new = try await world.peer(.dealer, on: world.second) { $0.routingID = Array("client".utf8) }
            try await new.connect(endpoint)
            #expect(await new.event(.handshakeSucceeded) != nil)
            #expect(try await new.send("from the new") == .sent)
            if allowed {
                #expect(await router.receive()?.texts == ["client", "from the new"])
                #expect(try await router.send("client", "ack") == .sent)
                #expect(await new.receive()?.texts == ["ack"])
            } else {
                // The new connection is deaf and dumb; answers go to the old one.
                for round in 0..<20 {
                    #expect(try await old.send("fence \(round)") == .sent)
                    #expect(await router.receive()?.texts == ["client", "fence \(round)"])
                    #expect(try await router.send("client", "ack \(round)") == .sent)
                    #expect(await old.receive()?.texts == ["ack \(round)"])
                }
                #expect(await new.waiting == 0)
            }
        }
    }

    @Test func requestClientSendsAnEmptyDelimiter() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let client = try await world.peer(.req, on: world.second)
            try await client.connect(try await router.bind())
            for round in 0..<3 {
                #expect(try await client.sendPatiently([Array("push/1".utf8), Array("{\(round)}".utf8)]) == .sent)
                // Lock-step: a second question before the answer is an error, not a crash.
                guard case .failed(let error) = try await client.send("push/1") else {
                    Issue.record("a REQ socket asked twice")
                    return
                }
                #expect(error.code == .wrongState)
                let request = try #require(await router.receive())
                #expect(request.texts.dropFirst() == ["", "push/1", "{\(round)}"])
                let reply = [request.frames[0], [], Array("ack/1".utf8)]
                #expect(try await router.send(frames: reply) == .sent)
                #expect(await client.receive()?.texts == ["ack/1"])
            }
        }
    }

    @Test func replySocketAnswers() async throws {
        try await ZMQWorld.run { world in
            let server = try await world.peer(.rep)
            let client = try await world.peer(.req, on: world.second)
            try await client.connect(try await server.bind())
            #expect(try await client.sendPatiently([Array("?".utf8)]) == .sent)
            #expect(await server.receive()?.texts == ["?"])
            #expect(try await server.send("!") == .sent)
            #expect(await client.receive()?.texts == ["!"])
        }
    }

    // MARK: Frames

    @Test(arguments: [1, 2, 3, 15, 16])
    func allFramesOfAMessageArrive(count: Int) async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            try await push.connect(try await pull.bind())
            // Small ones lie in the message itself, larger ones elsewhere; empty ones are frames as well.
            let frames = (0..<count).map { [UInt8](repeating: UInt8($0), count: $0 * $0 * 7) }
            #expect(try await push.sendPatiently(frames) == .sent)
            #expect(await pull.receive() == Received(frames: frames, peerAddress: "127.0.0.1"))
        }
    }

    @Test(arguments: [0, 17])
    func noFramesOrTooManyAreNotSent(count: Int) async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push)
            try await pull.bind("inproc://frames")
            try await push.connect("inproc://frames")
            guard case .failed(let error) = try await push.send(frames: [[UInt8]](repeating: [1], count: count)) else {
                Issue.record("\(count) frames were sent")
                return
            }
            #expect(error.code == .tooManyFrames)
            #expect(try await push.send("next") == .sent)
            #expect(await pull.receive()?.texts == ["next"])
        }
    }

    /// 16 frames from a DEALER are 17 with the routing id.
    @Test func tooManyFramesAreReportedAndReadToTheEnd() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let dealer = try await world.peer(.dealer, on: world.second) { $0.routingID = Array("d".utf8) }
            try await dealer.connect(try await router.bind())
            #expect(try await dealer.sendPatiently([[UInt8]](repeating: [7], count: 16)) == .sent)
            #expect(try await dealer.sendPatiently([[8]]) == .sent)
            let malformed = try #require(await router.receive())
            #expect(malformed.malformedFrameCount == 17)
            #expect(malformed.frames == [Array("d".utf8)] + [[UInt8]](repeating: [7], count: 15))
            #expect(await router.receive()?.frames == [Array("d".utf8), [8]])
        }
    }

    /// A client that is no libzmq at all.
    @Test func tenThousandFrames() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let client = try RawPeer(to: try await router.bind())
            client.write(RawPeer.greeting)
            client.write(RawPeer.ready(as: "DEALER"))
            #expect(client.read(64) != nil)
            var bytes: [UInt8] = []
            for _ in 0..<9_999 { bytes += RawPeer.frame([7], more: true) }
            bytes += RawPeer.frame([7], more: false)
            bytes += RawPeer.frame([8], more: false)
            #expect(client.write(bytes))
            let malformed = try #require(await router.receive())
            #expect(malformed.malformedFrameCount == 10_001)
            #expect(malformed.frames.count == 16)
            let next = try #require(await router.receive())
            #expect(next.malformedFrameCount == 0)
            #expect(next.frames.dropFirst() == [[8]])
        }
    }
}
