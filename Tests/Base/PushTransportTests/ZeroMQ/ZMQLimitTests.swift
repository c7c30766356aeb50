import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Peers that send too much, or no ZeroMQ at all, and ends that must come to an end.
@Suite(.waits) struct ZMQLimitTests {
    /// Nothing tells the sender. The receiver sees a disconnection, the sender one too, and it connects again.
    @Test func oversizedFrameDisconnects() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) { $0.maxFrameSize = 65_536 }
            let push = try await world.peer(.push, on: world.second) { $0.onlyToConnected = true }
            try await push.connect(try await pull.bind())
            #expect(try await push.sendPatiently([[UInt8](repeating: 1, count: 65_536)]) == .sent)
            #expect(await pull.receive()?.frames[0].count == 65_536)

            #expect(await push.event(.handshakeSucceeded) != nil)
            #expect(try await push.sendPatiently([[UInt8](repeating: 2, count: 65_537)]) == .sent)
            #expect(await pull.event(.disconnected) != nil)
            #expect(await push.event(.disconnected) != nil)
            #expect(await push.event(.handshakeSucceeded) != nil)
            #expect(try await push.sendPatiently([[3]]) == .sent)
            #expect(await pull.receive()?.frames == [[3]])
        }
    }

    @Test func garbageDoesNotDisturbOthers() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.maxFrameSize = 65_536 }
            let endpoint = try await router.bind()
            let client = try await world.peer(.dealer, on: world.second)
            try await client.connect(endpoint)
            #expect(try await client.sendPatiently([[0]]) == .sent)
            let id = try #require(await router.receive()).frames[0]

            var random = SeededRandom(seed: 4711)
            var others: [RawPeer] = []
            let started = RawPeer.greeting + RawPeer.ready(as: "DEALER")
            let starts: [[UInt8]] = [
                Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8),
                [UInt8](repeating: 0xff, count: 500),
                [UInt8](repeating: 0, count: 500),
                Array(RawPeer.greeting.prefix(30)),
                RawPeer.greeting + [4, 200] + [UInt8](repeating: 0x41, count: 200),
                RawPeer.greeting + [4, 6, 5] + Array("READY".utf8),
                RawPeer.greeting + RawPeer.ready(as: "NONSENSE"),
                // A frame that claims eight exabytes, one of 2 GB, and a command that nobody knows.
                started + [2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] + [1, 2, 3],
                started + [2, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff] + [1, 2, 3],
                started + [4, 3, 200, 1, 2],
                started + [0xf8, 1, 1],
            ]
            for start in starts {
                let peer = try RawPeer(to: endpoint)
                peer.write(start)
                others.append(peer)
            }
            for round in 0..<100 {
                let peer = try RawPeer(to: endpoint)
                let prefix = round % 3 == 0 ? [] : round % 3 == 1 ? RawPeer.greeting : started
                peer.write(prefix + (0..<200).map { _ in UInt8(truncatingIfNeeded: random.next()) })
                if round % 2 == 0 { others.append(peer) }
                #expect(try await client.sendPatiently([[UInt8(round)]]) == .sent)
                let message = try #require(await router.receive { $0.frames[0] == id }, "starved in round \(round)")
                #expect(message.frames.dropFirst() == [[UInt8(round)]])
                #expect(try await router.send(id, [UInt8(round)]) == .sent)
                #expect(await client.receive()?.frames == [[UInt8(round)]])
            }
            #expect(await !router.isClosed)
            #expect(others.count == starts.count + 50)
        }
    }

    /// Who connects and says nothing is shown the door.
    @Test func silentConnectionIsClosed() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) { $0.handshakeTimeout = .milliseconds(100) }
            let silent = try RawPeer(to: try await pull.bind())
            #expect(silent.readToEnd())
            let failure = await pull.event {
                if case .handshakeFailedNoDetail = $0 { true } else { $0 == .disconnected }
            }
            #expect(failure != nil)
        }
    }

    // MARK: Ends

    /// With libzmq's own default, to linger for ever, this would never return.
    @Test func endDoesNotWaitForAPeerThatIsGone() async throws {
        let context = try ZMQContext()
        let loop = EventLoop(name: "linger")
        var options = ZMQSocketOptions()
        options.linger = .milliseconds(50)
        let push = try await ZMQPeer.make(.push, in: context, on: loop, options: options)
        try await push.connect("tcp://127.0.0.1:1")
        #expect(try await push.fill(upTo: 100, size: 300).accepted == 100)
        await push.close()
        #expect(await ends { await context.terminate() })
        await loop.shutDown()
    }

    /// What was sent before the close is sent within the linger.
    @Test func closedSocketStillSends() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second) { $0.linger = .seconds(20) }
            try await push.connect(try await pull.bind())
            #expect(try await push.fill(upTo: 100, size: 1000).accepted == 100)
            await push.close()
            for number in 0..<100 {
                #expect(ZMQPeer.number(try #require(await pull.receive()).frames[0]) == number)
            }
        }
    }

    @Test func endClosesSocketsThatAreOpen() async throws {
        let context = try ZMQContext()
        let loop = EventLoop(name: "end")
        let pull = try await ZMQPeer.make(.pull, in: context, on: loop)
        let router = try await ZMQPeer.make(.router, in: context, on: loop)
        try await pull.bind()
        let handler = try ZAPHandler(in: context, users: [:])
        #expect(
            await ends {
                async let once: Void = context.terminate()
                async let twice: Void = context.terminate()
                _ = await (once, twice)
                await context.terminate()
            })
        #expect(await pull.signal("terminated"))
        #expect(await router.signal("terminated"))
        #expect(await pull.isClosed)
        await #expect { try await pull.bind() } throws: { ($0 as? ZMQError)?.code == .closed }
        await #expect { try await ZMQPeer.make(.pull, in: context, on: loop) } throws: {
            ($0 as? ZMQError)?.code == .terminated
        }
        #expect(handler.counts.accepted == 0)
        await loop.shutDown()
    }

    @Test func closedSocketSaysSo() async throws {
        try await ZMQWorld.run { world in
            let push = try await world.peer(.push)
            await push.closeSocket()
            await push.closeSocket()
            for frames in [[[1]], [[1], [2]]] as [[[UInt8]]] {
                guard case .failed(let error) = try await push.send(frames: frames) else {
                    Issue.record("a closed socket sent something")
                    return
                }
                #expect(error.code == .closed)
            }
            #expect(await push.event(.stopped) != nil)
        }
    }

    /// A handler may close its own socket, with messages still waiting.
    @Test func closeInTheHandler() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            try await pull.pause()
            try await pull.bind("inproc://close")
            try await push.connect("inproc://close")
            #expect(try await push.fill(upTo: 10, size: 8).accepted == 10)
            try await pull.with { socket in
                let deliver = socket.onMessage
                socket.onMessage = { [unowned socket] message in
                    deliver?(message)
                    socket.close()
                }
            }
            try await pull.resume()
            #expect(await pull.receive() != nil)
            #expect(await pull.event(.stopped) != nil)
            #expect(await pull.waiting == 0)
        }
    }
}
