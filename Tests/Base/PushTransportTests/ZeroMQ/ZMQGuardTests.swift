import Glibc
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushTransport

/// What protects the process from peers that would bring libzmq down, and from too many of them.
@Suite(.waits) struct ZMQGuardTests {
    // MARK: Sockets without keys

    /// What a socket that asks for no keys says to the first bytes of a client, as far as it says anything.
    private func handshakes(_ world: ZMQWorld, _ bytes: [UInt8]) async throws -> Bool {
        let router = try await world.peer(.router) { $0.security = .open }
        let raw = try RawPeer(to: try await router.bind())
        raw.write(bytes)
        // Either the connection is ended, or a question is asked that only an accepted client is asked.
        let isEnded = raw.readToEnd()
        let events = await router.takeEvents()
        return !isEnded || events.contains(.handshakeSucceeded)
    }

    @Test func onlyZMTP3GetsIn() async throws {
        let first = Array("POST /".utf8) + [UInt8](repeating: 0x78, count: 75) + [7, 1] + Array("push/1".utf8)
        let second: [UInt8] = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 5, 0, 0]
        for bytes in [first, second] {
            try await ZMQWorld.run { world in
                _ = try ZAPHandler(in: world.context, users: [:])
                #expect(try await !handshakes(world, bytes))
            }
        }
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [:])
            let router = try await world.peer(.router) { $0.security = .open }
            let dealer = try await world.peer(.dealer, on: world.second)
            try await dealer.connect(try await router.bind())
            #expect(try await dealer.sendPatiently([Array("hello".utf8)]) == .sent)
            let message = try #require(await router.receive())
            #expect(message.texts.last == "hello" && message.userID == nil)
            #expect(handler.counts.accepted == 1)
        }
    }

    /// As with CURVE: a socket whose clients nobody judges has none.
    @Test func withoutAHandlerNobodyGetsIn() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.security = .open }
            let dealer = try await world.peer(.dealer, on: world.second) { $0.onlyToConnected = true }
            try await dealer.connect(try await router.bind())
            #expect(
                await router.event { if case .handshakeFailedNoDetail = $0 { true } else { false } } != nil)
            #expect(try await dealer.send("in?") == .wouldBlock)
        }
    }

    // MARK: The thread of the handler

    /// Errors of the system do not end it, and each is told.
    @Test func theHandlerOutlivesErrors() async throws {
        try await ZMQWorld.run { world in
            let responder = try ZAPResponder(in: world.context)
            let left = Locked<[ZMQInbox.Outcome]>([.failed(ENOMEM), .failed(EMFILE), .empty])
            let reported = Locked<[ZMQError.Code]>([])
            _ = NamedThread(named: "zap") {
                responder.run(
                    receive: { socket, inbox in
                        let fault = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                        return fault ?? inbox.receive(from: socket, waits: true)
                    }, onFailure: { error in reported.withLock { $0.append(error.code) } },
                    { _, _ in .accepted(userID: "x") })
            }
            let client = try await world.peer(.req)
            try await client.connect("inproc://zeromq.zap.01")
            #expect(try await client.send("1.0", "id") == .sent)
            #expect(await client.receive()?.texts[2] == "200")
            #expect(reported.withLock { $0 } == [.outOfMemory, .tooManySockets])
        }
    }

    /// A socket that is gone ends it, which is told.
    @Test func theHandlerSaysThatItEnds() async throws {
        try await ZMQWorld.run { world in
            let responder = try ZAPResponder(in: world.context)
            let reported = Locked<[ZMQError.Code]>([])
            let thread = NamedThread(named: "zap") {
                responder.run(
                    receive: { _, _ in .failed(ENOTSOCK) },
                    onFailure: { error in reported.withLock { $0.append(error.code) } },
                    { _, _ in .failed("") })
            }
            thread.join()
            #expect(reported.withLock { $0 } == [.closed])
        }
    }

    /// Every user can see the name that its two sockets meet under.
    @Test(.enabled(if: geteuid() == 0, "only root can be another user"))
    func noOtherUserReachesTheBarrier() async throws {
        try await ZMQWorld.run { world in
            let barrier = try IOThreadBarrier(in: world.context)
            defer { barrier.close() }
            #expect(barrier.pass())
            let program = """
                import os, socket, sys
                os.setuid(int(sys.argv[2]))
                peer = socket.socket(socket.AF_UNIX)
                peer.connect("\\0" + sys.argv[1])
                try:
                    print(len(peer.recv(64)))
                except ConnectionError:
                    print(0)
                """
            for user in ["65534", "0"] {
                let ended = try await ChildProcess.run("python3", ["-c", program, barrier.name, user])
                // libzmq greets those that it takes.
                #expect((ended.output == "0\n") == (user != "0"), "\(ended.output) \(ended.errors)")
                #expect(barrier.pass())
            }
        }
    }

    // MARK: Routing ids

    @Test(arguments: [1, 254, 255, 256, 257, 70_000])
    func longRoutingIDs(_ length: Int) async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let raw = try RawPeer(to: try await router.bind())
            raw.write(RawPeer.greeting)
            _ = raw.read(64)
            raw.write(RawPeer.ready(as: "DEALER", routingID: [UInt8](repeating: 0x61, count: length)))
            raw.write(RawPeer.frame(Array("hello".utf8), more: false))
            if length <= 255 {
                #expect(await router.receive()?.texts == [String(repeating: "a", count: length), "hello"])
            } else {
                #expect(raw.readToEnd())
                #expect(await router.takeReceived().isEmpty)
            }
        }
    }

    // MARK: Connections

    @Test func theGateHasHysteresis() {
        var gate = ConnectionGate(maxOpen: 20)
        #expect((1...19).allSatisfy { _ in !gate.opened() })
        #expect(gate.opened() && gate.isClosed)
        // On their way when it was closed.
        #expect(!gate.opened() && !gate.opened() && gate.open == 22)
        #expect((1...3).allSatisfy { _ in !gate.ended() })
        #expect(gate.ended() && !gate.isClosed && gate.open == 18)
        #expect(!gate.ended() && !gate.opened() && !gate.opened() && !gate.isClosed)
        #expect(gate.opened() && gate.closures == 2)
        var least = ConnectionGate(maxOpen: 0)
        #expect(least.opened() && least.ended() && !least.ended() && least.open == 0)
    }

    /// A bound socket with a door, on the world's first loop.
    private func router(
        _ world: ZMQWorld, limits: ZMQConnectionLimits, news: Locked<[ZMQGuard.Event]>,
        receiveHighWaterMark: Int = 1000,
        security: ZMQSecurity = .none
    ) async throws -> (socket: LoopBound<ZMQSocket>, endpoint: String, door: LoopBound<ZMQGuard>) {
        let (loop, context) = (world.first, world.context)
        return try await loop.run {
            var options = ZMQSocketOptions()
            options.handshakeTimeout = .seconds(300)
            options.routerHandover = true
            options.receiveHighWaterMark = receiveHighWaterMark
            options.security = security
            let socket = try ZMQSocket(.router, in: context, on: loop, options: options)
            let door = ZMQGuard(limits: limits) { one in news.withLock { $0.append(one) } }
            do {
                try door.watch(socket)
                return (LoopBound(socket, on: loop), try socket.bind("tcp://127.0.0.1:*"), LoopBound(door, on: loop))
            } catch {
                socket.close()
                throw error
            }
        }
    }

    /// libzmq asks no handler about a client of another mechanism, or with the key of another server.
    @Test func refusedHandshakesAreReported() async throws {
        try await ZMQWorld.run { world in
            let news = Locked<[ZMQGuard.Event]>([])
            let (keys, other) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
            let (socket, endpoint, door) = try await router(
                world, limits: ZMQConnectionLimits(connections: 100), news: news,
                security: .curveServer(secretKey: keys.secretKey, domain: "intake.router"))
            let plain = try RawPeer(to: endpoint)
            plain.write(RawPeer.greeting)
            await wait(while: news.withLock({ $0.isEmpty }))
            let stranger = try await world.peer(.dealer, on: world.second) {
                $0.security = .curveClient(keys: keys, serverKey: other.publicKey)
            }
            try await stranger.connect(endpoint)
            await wait(while: news.withLock({ $0.count < 2 }))
            // The address is that of the next end of a connection, if libzmq reports one in time.
            let refused = news.withLock { $0 }.prefix(2).compactMap { event in
                if case .refusedHandshake(let one) = event { one } else { nil }
            }
            #expect(refused.map(\.cause) == [.mechanism, .otherServer])
            #expect(refused.allSatisfy { $0.domain == "intake.router" && ["127.0.0.1", nil].contains($0.address) })
            #expect(await door.with { $0.gate.open } <= 1)
            await socket.with { $0.close() }
        }
    }

    /// libzmq does not report a client that does not speak ZMTP 3, and only ends its connection. The address sanitizer takes
    /// the memory of this test's asynchronous frame, which the runtime allocates, for an overflow.
    @Test(
        .enabled(if: getenv("CARILLON_SANITIZER") == nil),
        arguments: ["PLAIN", "GSSAPI", "NULL", "ZMTP 1", "ZMTP 2", "HTTP"])
    func clientsWithoutCurveAreReported(client: String) async throws {
        let (bytes, cause) = Self.firstBytes(of: client)
        try await ZMQWorld.run { world in
            let news = Locked<[ZMQGuard.Event]>([])
            let (keys, ours) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
            _ = try ZAPHandler(in: world.context, users: [ours.publicKey: "ours"])
            let (socket, endpoint, door) = try await router(
                world, limits: ZMQConnectionLimits(connections: 100), news: news,
                security: .curveServer(secretKey: keys.secretKey, domain: "intake.router"))
            for round in 1...3 {
                try await accept(ours, serverKey: keys.publicKey, world, endpoint, door)
                try await leaveSilently(endpoint, door)
                let raw = try RawPeer(to: endpoint)
                raw.write(bytes)
                #expect(raw.readToEnd())
                await wait(while: news.withLock({ $0.count < round }))
            }
            // The address is unknown if the connection had ended before its event arrived.
            let causes = news.withLock { $0 }.map { event -> ZMQRefusedHandshake.Cause? in
                if case .refusedHandshake(let one) = event, one.domain == "intake.router" { one.cause } else { nil }
            }
            #expect(causes == [cause, cause, cause])
            await socket.with { $0.close() }
        }
    }

    private static func firstBytes(of client: String) -> ([UInt8], ZMQRefusedHandshake.Cause) {
        switch client {
        case "HTTP": return (Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), .otherProtocol)
        case "ZMTP 1": return ([1, 0, 7, 0] + Array("push/1".utf8), .otherProtocol)
        case "ZMTP 2": return ([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 5, 0, 0], .otherProtocol)
        default:
            var greeting = RawPeer.greeting
            greeting.replaceSubrange(12..<12 + client.utf8.count, with: client.utf8)
            return (greeting, .mechanism)
        }
    }

    /// Connects a client that the handler accepts, and closes it. It is not reported.
    private func accept(
        _ keys: CurveKeyPair, serverKey: CurvePublicKey, _ world: ZMQWorld, _ endpoint: String,
        _ door: LoopBound<ZMQGuard>
    ) async throws {
        let dealer = try await world.peer(.dealer, on: world.second) {
            $0.security = .curveClient(keys: keys, serverKey: serverKey)
        }
        try await dealer.connect(endpoint)
        #expect(try await dealer.sendPatiently([Array("hello".utf8)]) == .sent)
        await wait(while: await door.with { $0.gate.open } < 1)
        await dealer.close()
        await wait(while: await door.with { $0.gate.open } > 0)
    }

    /// Connects a client that sends nothing, and closes it. It is not reported.
    private func leaveSilently(_ endpoint: String, _ door: LoopBound<ZMQGuard>) async throws {
        do {
            let silent = try RawPeer(to: endpoint)
            await wait(while: await door.with { $0.gate.open } < 1)
            withExtendedLifetime(silent) {}
        }
        await wait(while: await door.with { $0.gate.open } > 0)
    }

    @Test func connectionsAreBounded() async throws {
        try await ZMQWorld.run { world in
            let news = Locked<[ZMQGuard.Event]>([])
            let (socket, endpoint, door) = try await router(
                world, limits: ZMQConnectionLimits(connections: 3), news: news)
            var inside = try (1...3).map { _ in try RawPeer(to: endpoint) }
            await wait(while: news.withLock({ $0.isEmpty }))
            #expect(news.withLock { $0.last?.gate?.isClosed } == true)
            #expect(await socket.with { $0.isAccepting } == false)
            // Waits in the kernel, and nothing of it is seen here.
            let outside = try RawPeer(toward: endpoint)
            #expect(!outside.isConnected)
            #expect(await door.with { $0.gate.open } == 3)
            inside.removeLast()
            await wait(while: news.withLock({ $0.count < 2 }))
            #expect(news.withLock { $0[1].gate?.isClosed } == false)
            // The kernel tries again a second after the first time; then the door is closed behind it.
            await wait(while: news.withLock({ $0.count < 3 }))
            #expect(outside.isConnected)
            // Those that were inside stayed so.
            inside[0].write(RawPeer.greeting)
            #expect(inside[0].read(64) != nil)
            await socket.with { $0.close() }
            // With the socket its connections are gone.
            await wait(while: await door.with({ $0.gate.open }) > 0)
        }
    }

    /// A client of that socket, after its handshake.
    private func dealer(to endpoint: String, routingID: String) throws -> RawPeer {
        let raw = try RawPeer(to: endpoint)
        raw.write(RawPeer.greeting)
        _ = raw.read(64)
        raw.write(RawPeer.ready(as: "DEALER", routingID: Array(routingID.utf8)))
        return raw
    }

    /// Whoever has lost its routing id to another and then sends something, keeps its descriptor in libzmq.
    @Test func stuckConnectionsAreEnded() async throws {
        try await ZMQWorld.run { world in
            var limits = ZMQConnectionLimits(connections: 100)
            (limits.interval, limits.patience) = (.milliseconds(10), .milliseconds(50))
            let news = Locked<[ZMQGuard.Event]>([])
            let texts = Locked<[String]>([])
            let (socket, endpoint, door) = try await router(world, limits: limits, news: news)
            await socket.with { socket in
                socket.onMessage = { message in
                    let text = String(decoding: message.copied(1), as: UTF8.self)
                    texts.withLock { $0.append(text) }
                }
            }
            /// Until it has arrived, or all connections were ended.
            func say(_ text: String, by raw: RawPeer, orUntil isOver: () -> Bool = { false }) async {
                raw.write(RawPeer.frame(Array(text.utf8), more: false))
                await wait(while: texts.withLock({ $0.last != text }) && !isOver())
            }
            // Not that it cannot be bound: a process that another test is about to start has the listener until it runs
            // its program, and the door tries again.
            let ended = {
                news.withLock { news in
                    news.lazy.compactMap { if case .endedStuck(let count) = $0 { count } else { nil } }.first
                }
            }
            let isTold = { ended() != nil }
            #expect(limits.stuck == 6)
            var number = 0
            // Not each of them gets stuck: what comes before libzmq has ended the old queue does no harm.
            while !isTold() {
                let old = try dealer(to: endpoint, routingID: "client \(number)")
                await say("old \(number)", by: old, orUntil: isTold)
                let new = try dealer(to: endpoint, routingID: "client \(number)")
                await say("new \(number)", by: new, orUntil: isTold)
                // libzmq has nowhere to put it, and reads no more.
                for _ in 0..<20 {
                    old.write(RawPeer.frame(Array("late".utf8), more: false))
                    await pace()
                }
                number += 1
            }
            let count = try #require(ended())
            #expect(count >= limits.stuck)
            // Their connections are gone, and are made again.
            let again = try dealer(to: endpoint, routingID: "client 0")
            await say("again", by: again)
            await wait(while: await door.with({ $0.gate.open }) != 1)
            await socket.with { $0.close() }
        }
    }

    /// Such a socket that counts its messages, and a door that looks often, and not at the memory: that is of all tests.
    private func counting(
        _ world: ZMQWorld, limits: ZMQConnectionLimits, news: Locked<[ZMQGuard.Event]>, received: Locked<Int>
    ) async throws -> (socket: LoopBound<ZMQSocket>, endpoint: String, door: LoopBound<ZMQGuard>) {
        var limits = limits
        (limits.interval, limits.growth) = (.milliseconds(10), .max)
        let made = try await router(world, limits: limits, news: news)
        await made.socket.with { socket in
            socket.onMessage = { _ in received.withLock { $0 += 1 } }
            // Of more frames than there may be.
            socket.onMalformed = { _, _ in received.withLock { $0 += 1 } }
        }
        return made
    }

    /// Frames of a message that does not end are all kept by libzmq.
    @Test(arguments: [0, 200])
    func messagesWithoutAnEndAreCut(size: Int) async throws {
        try await ZMQWorld.run { world in
            let limits = ZMQConnectionLimits(connections: 100, maxHeld: 4 << 20)
            let (news, received) = (Locked<[ZMQGuard.Event]>([]), Locked(0))
            let (socket, endpoint, door) = try await counting(world, limits: limits, news: news, received: received)
            let honest = try dealer(to: endpoint, routingID: "honest")
            let hoarder = try dealer(to: endpoint, routingID: "hoarder")
            let frame = RawPeer.frame([UInt8](repeating: 0, count: size), more: true)
            let frames = [[UInt8]](repeating: frame, count: 4000 / frame.count).flatMap(\.self)
            while news.withLock({ $0.isEmpty }) {
                if hoarder.canWrite { hoarder.write(frames) } else { await pace() }
            }
            #expect(hoarder.readToEnd())
            let first = try #require(news.withLock { $0.first })
            guard case .endedHoarding(let address) = first else {
                Issue.record("\(first)")
                return
            }
            #expect(address.hasPrefix("127.0.0.1:"))
            // Brings twice as much, in messages that end. Waits now and then: what the loop has not come to yet counts.
            let last = RawPeer.frame([UInt8](repeating: 0, count: size), more: false)
            let message = Array(frames.dropLast(last.count)) + last
            let messages = limits.maxHeld * 2 / message.count + 1
            for sent in 1...messages {
                #expect(honest.write(message))
                guard sent % 200 == 0 || sent == messages else { continue }
                await wait(while: received.withLock({ $0 < sent }) && news.withLock({ $0.count == 1 }))
            }
            #expect(news.withLock { $0.count } == 1)
            #expect(await door.with { $0.gate.open } == 1)
            await socket.with { $0.close() }
        }
    }

    /// None of them brings much, and the honest one beside them is served.
    @Test func manySmallHoardersAreCut() async throws {
        try await ZMQWorld.run { world in
            let limits = ZMQConnectionLimits(connections: 100, maxHeldTogether: 1 << 20)
            let (news, received) = (Locked<[ZMQGuard.Event]>([]), Locked(0))
            let (socket, endpoint, door) = try await counting(world, limits: limits, news: news, received: received)
            let honest = try dealer(to: endpoint, routingID: "honest")
            let hoarders = try (1...20).map { try dealer(to: endpoint, routingID: "hoarder \($0)") }
            let frame = RawPeer.frame([], more: true)
            let frames = [[UInt8]](repeating: frame, count: 30_000).flatMap(\.self)
            for (number, hoarder) in hoarders.enumerated() {
                hoarder.write(frames)
                honest.write(RawPeer.frame([UInt8](repeating: 0, count: 200), more: false))
                await wait(while: received.withLock({ $0 <= number }))
            }
            // Three have to go before the others have the room.
            await wait(while: news.withLock({ $0.count < 3 }))
            for one in news.withLock({ $0 }) {
                guard case .endedHoarding = one else {
                    Issue.record("\(one)")
                    return
                }
            }
            honest.write(RawPeer.frame([1], more: false))
            await wait(while: received.withLock({ $0 <= hoarders.count }))
            await wait(while: await door.with({ $0.gate.open }) > 18)
            await socket.with { $0.close() }
        }
    }

    /// While a socket is left unread, libzmq does not find the end of a connection whose queue is full.
    @Test func whoWasHungUpOnIsToldOfOnce() async throws {
        try await ZMQWorld.run { world in
            var limits = ZMQConnectionLimits(connections: 100, maxHeldTogether: 20_000)
            limits.interval = .milliseconds(5)
            limits.growth = .max
            let news = Locked<[ZMQGuard.Event]>([])
            let (socket, endpoint, door) = try await router(world, limits: limits, news: news, receiveHighWaterMark: 1)
            await socket.with { $0.pauseReceiving() }
            let messages = [[UInt8]](
                repeating: RawPeer.frame([UInt8](repeating: 0, count: 200), more: false), count: 200
            ).flatMap(\.self)
            // All of them before the first is found: nobody is let in after that.
            let hoarders = try (1...10).map { try dealer(to: endpoint, routingID: "hoarder \($0)") }
            for (number, hoarder) in hoarders.enumerated() {
                hoarder.write(messages)
                await wait(while: news.withLock({ $0.count <= number }))
            }
            let addresses = news.withLock { news in
                news.compactMap { if case .endedHoarding(let address) = $0 { address } else { nil } }
            }
            #expect(addresses.count == hoarders.count && Set(addresses).count == hoarders.count)
            #expect(await door.with { $0.gate.open } == hoarders.count)
            await socket.with { $0.close() }
        }
    }

    /// A descriptor may belong to another connection by the time that one is hung up on.
    @Test func onlyThePeerThatWasMeantIsHungUpOn() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let endpoint = try await router.bind()
            let raw = try RawPeer(to: endpoint)
            #expect(await router.event(.accepted) != nil)
            let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
            let accepted = try #require(
                (0..<Int32(65_536)).first { descriptor in
                    SocketAddress.local(of: descriptor)?.port == port && SocketAddress.peer(of: descriptor) != nil
                })
            let peer = try #require(SocketAddress.peer(of: accepted))
            let other = try #require(SocketAddress(ip: "127.0.0.1", port: peer.port ^ 1))
            #expect(try await router.with { !$0.hangUp(on: accepted, from: other) })
            raw.write(RawPeer.greeting)
            #expect(raw.read(64) != nil)
            #expect(try await router.with { $0.hangUp(on: accepted, from: peer) })
            #expect(raw.readToEnd())
        }
    }

    /// What the kernel was told about an accepted connection: the time-outs that take the place of heartbeats.
    @Test func theKernelLooksAfterConnections() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.ignoresResets = true }
            let endpoint = try await router.bind()
            let raw = try RawPeer(to: endpoint)
            #expect(await router.event(.accepted) != nil)
            let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
            let accepted = try #require(
                (0..<Int32(65_536)).first { descriptor in
                    SocketAddress.local(of: descriptor)?.port == port && SocketAddress.peer(of: descriptor) != nil
                })
            func option(_ level: Int32, _ option: Int32) -> Int32 {
                var (value, size) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
                return getsockopt(accepted, level, option, &value, &size) == 0 ? value : -1
            }
            let tcp = Int32(IPPROTO_TCP)
            #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
            #expect(option(tcp, TCP_KEEPIDLE) == 10)
            #expect(option(tcp, TCP_KEEPINTVL) == 5)
            #expect(option(tcp, TCP_KEEPCNT) == 4)
            #expect(option(tcp, TCP_USER_TIMEOUT) == 30_000)
            withExtendedLifetime(raw) {}
        }
    }

    @Test(arguments: [
        ("tcp://127.0.0.1:5560", "127.0.0.1:5560"), ("tcp://*:0", "0.0.0.0:0"), ("tcp://127.0.0.1:*", "127.0.0.1:0"),
        ("tcp://[::1]:7", "[::1]:7"), ("tcp://localhost:5560", nil), ("tcp://eth0:5560", nil), ("ipc:///run/x", nil),
        ("inproc://x", nil), ("tcp://127.0.0.1:99999", nil), ("tcp://127.0.0.1", nil),
    ])
    func endpointsOfListeners(_ endpoint: String, _ address: String?) {
        #expect(ZMQListener.address(of: endpoint)?.description == address)
    }
}

extension ZMQGuard.Event {
    fileprivate var gate: ConnectionGate? {
        if case .gate(let gate) = self { gate } else { nil }
    }
}
