import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// A connection that stays open without any data.
private final class KeptSocket {
    private let socket: Socket

    init(_ socket: consuming Socket) {
        self.socket = socket
    }
}

/// A TLS server that completes handshakes and sends nothing after them. Confined to its loop.
private final class MuteServer: ChannelHandler, @unchecked Sendable {
    // Unchecked: the test uses it on the loop only, and passes the reference.
    let handshakes = EventRecorder<Bool>()
    private var listener: TCPListener?
    private var channels: [Channel] = []

    func listen(on loop: EventLoop, context: TLSContext) throws(TCPError) -> UInt16 {
        let listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) { [unowned self] socket in
            guard let tls = try? TLSEngine(context: context, role: .server) else { return }
            let channel = Channel(socket, on: loop, tls: tls, handler: self)
            channels.append(channel)
            channel.start()
        }
        self.listener = listener
        return listener.address.port
    }

    /// Sends the first bytes of a SETTINGS frame, and never the rest.
    func dribble() {
        let bytes: [UInt8] = [0, 0, 0]
        for channel in channels { channel.write(bytes) }
    }

    func stop() {
        listener?.close()
        for channel in channels { channel.abort() }
    }

    func channelOpened(_ channel: Channel) { handshakes.record(true) }
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelWantsOutput(_ channel: Channel) {}
    func channel(_ channel: Channel, closed reason: ChannelClosure) {}
}

/// Tests of client and server on real TLS sockets over loopback.
@Suite(.waits) struct HTTP2ConnectionTests {
    let pool = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 16)

    /// Runs a test with a scene on its own loop and cleans up.
    func withScene(
        clock: LoopClock = .monotonic,
        _ body: (LoopBound<HTTP2Scene>, EventRecorder<ClientEvent>, EventLoop) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "http2-test", clock: clock)
        let resolver = NameResolver(pool: pool)
        let server = try TestCertificates.shared.serverContext(alpn: ["h2"])
        let scene = try await loop.run {
            LoopBound(try HTTP2Scene(on: loop, resolver: resolver, server: server), on: loop)
        }
        let events = EventRecorder<ClientEvent>()
        try await body(scene, events, loop)
        await scene.with { $0.stop() }
        await loop.shutDown()
        await pool.shutDown()
    }

    @Test("One connection carries many requests") func manyRequestsOverOneConnection() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            let total = 5_000
            await scene.with { scene in
                scene.connect(tls: tls, events: events)
                var next = 0
                let fill = { [unowned scene] in
                    while next < total, scene.submit(next) { next += 1 }
                }
                scene.recorders[0].onSettings = fill
                scene.recorders[0].onBatch = fill
            }
            let all = await events.wait(count: total + 1)
            let answered = all.compactMap { event in
                if case .answered(let tag, 200, id: let id) = event { (tag, id) } else { nil }
            }
            #expect(answered.count == total)
            #expect(Set(answered.map(\.0)).count == total)
            #expect(answered.allSatisfy { $0.1 == "id-\($0.0)" })
            let (paths, session) = await scene.with { ($0.server.paths, $0.clients[0].session) }
            #expect(Set(paths).count == total)
            #expect(session?.protocolVersion == "TLSv1.3")
            #expect(session?.alpn == "h2")
        }
    }

    @Test("Requests submitted in one tick are sent together")
    func whatIsSubmittedInOneTickGoesOutTogether() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { $0.connect(tls: tls, events: events) }
            await events.wait(count: 1)
            await scene.with { scene in
                for number in 0..<100 { _ = scene.submit(number) }
            }
            await events.wait(count: 101)
            // 100 requests of about 100 bytes take one or two records, not a hundred.
            let received = await scene.with { $0.server.connections[0].channel.readCount }
            #expect(received < 20)
        }
    }

    @Test("A name that is not in the certificate is rejected")
    func aNameThatIsNotInTheCertificateIsRefused() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { $0.connect(serverName: "other.example", tls: tls, events: events) }
            let all = await events.wait(count: 1)
            guard case .closed(let why) = all[0] else {
                Issue.record("expected the end of the connection, got \(all)")
                return
            }
            #expect(why.contains("other.example"))
        }
    }

    @Test("Connecting to a closed port fails") func nobodyListens() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            let taken = try #require(TakenPort())
            await scene.with {
                $0.connect(to: HostPort(host: "127.0.0.1", port: taken.number), tls: tls, events: events)
            }
            let all = await events.wait(count: 1)
            #expect(all.first?.isClosed == true)
            #expect("\(all)".contains("nothing listens there"))
        }
    }

    @Test("Connecting to an unknown host fails") func aNameThatDoesNotExist() async throws {
        // A manual clock, because the test cannot control how long the system's resolver takes.
        try await withScene(clock: .manual()) { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with {
                $0.connect(to: HostPort(host: "no-such-host.invalid", port: 1), tls: tls, events: events)
            }
            let all = await events.wait(count: 1)
            #expect("\(all)".contains("cannot look up no-such-host.invalid"))
        }
    }

    @Test("A server that never responds times out") func aServerThatNeverSpeaksIsGivenUp() async throws {
        try await withScene(clock: .manual()) { scene, events, loop in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            let port = try await loop.run { () throws(TCPError) in
                var kept: [KeptSocket] = []
                let listener = try TCPListener(on: loop, at: HostPort(host: "127.0.0.1", port: 0)) {
                    kept.append(KeptSocket($0))
                }
                loop.schedule(after: .seconds(1000)) {
                    listener.close()
                    kept.removeAll()
                }
                return listener.address.port
            }
            await scene.with {
                $0.connect(to: HostPort(host: "127.0.0.1", port: port), tls: tls, options: .init(), events: events)
            }
            await wait(while: await scene.with({ $0.clients[0].peer == nil }))
            await loop.advance(by: .seconds(9))
            #expect(events.events.isEmpty)
            await loop.advance(by: .seconds(2))
            let all = await events.wait(count: 1)
            #expect("\(all)".contains("within 10"))
            await loop.advance(by: .seconds(1000))
        }
    }

    /// A PING must not replace the time limit of the connect: TLS alone brings bytes that look like signs of life.
    @Test("A server without SETTINGS times out although it is asked for a PING")
    func aPingDoesNotExtendTheConnect() async throws {
        try await withScene(clock: .manual()) { scene, events, loop in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            let context = try TestCertificates.shared.serverContext(alpn: ["h2"])
            let mute = MuteServer()
            let port = try await loop.run { () throws(TCPError) in
                try mute.listen(on: loop, context: context)
            }
            await scene.with {
                $0.connect(to: HostPort(host: "127.0.0.1", port: port), tls: tls, events: events)
            }
            await mute.handshakes.wait(count: 1)
            await wait(while: await scene.with({ $0.clients[0].session == nil }))
            await scene.with { $0.clients[0].ping() }
            await loop.advance(by: .seconds(1))
            await loop.run { mute.dribble() }
            // The bytes probably arrive meanwhile. The result must be the same if they do not.
            for _ in 0..<50 { await loop.run {} }
            await loop.advance(by: .seconds(298))
            #expect(events.events.isEmpty)
            await loop.advance(by: .seconds(2))
            let all = await events.wait(count: 1)
            #expect("\(all)".contains("no TLS and HTTP/2 SETTINGS"))
            await loop.run { mute.stop() }
        }
    }

    @Test("A PING that is asked for before SETTINGS is sent after them") func anEarlyPingIsSentLater() async throws {
        try await withScene(clock: .manual()) { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { scene in
                scene.connect(tls: tls, events: events)
                scene.clients[0].ping()
            }
            await events.wait(count: 1)
            await wait(while: await scene.with({ $0.clients[0].lastRoundTrip == nil }))
        }
    }

    @Test("PINGs keep the connection alive and detect a dead peer")
    func pingsKeepTheConnectionAndFindASilentPeer() async throws {
        try await withScene(clock: .manual()) { scene, events, loop in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { $0.connect(tls: tls, options: .init(), events: events) }
            await events.wait(count: 1)
            await loop.advance(by: .seconds(61))
            // The response to the PING is real traffic, so wait for it and not for a time.
            await wait(while: await scene.with({ $0.clients[0].lastRoundTrip == nil }))
            #expect(events.events.count == 1)
            await scene.with { scene in
                _ = scene.submit(7)
                scene.server.connections[0].channel.isReadingPaused = true
            }
            await loop.advance(by: .seconds(62))
            await loop.advance(by: .seconds(11))
            let all = await events.wait(count: 3)
            #expect(all[1] == .unanswered(7, .connectionLost))
            #expect("\(all[2])".contains("no response to a PING"))
        }
    }

    @Test("A graceful close waits for the answers") func gracefulCloseWaitsForAnswers() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            let held = EventRecorder<Int32>()
            await scene.with { scene in
                scene.server.behavior = { _, stream, _, _ in held.record(stream) }
                scene.connect(tls: tls, events: events)
            }
            await events.wait(count: 1)
            await scene.with { _ = $0.submit(1) }
            let streams = await held.wait(count: 1)
            await scene.with { scene in
                scene.clients[0].closeGracefully()
                #expect(!scene.submit(2))
            }
            await scene.with { scene in
                let connection = scene.server.connections[0]
                connection.engine.answer(streams[0], status: HTTP2Status(200), fields: [], body: [])
                connection.flush()
            }
            let all = await events.wait(count: 3)
            #expect(all[1] == .answered(1, 200, id: nil))
            #expect(all[2].isClosed)
        }
    }

    @Test("A GOAWAY ends the connection after its answers") func goAwayEndsTheConnectionAfterItsAnswers() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { scene in
                scene.server.behavior = { connection, stream, _, id in
                    connection.engine.answer(stream, status: HTTP2Status(200), fields: [("apns-id", id)], body: [])
                    if stream == 3 { connection.closeGracefully(debugData: Array("{\"reason\":\"Shutdown\"}".utf8)) }
                }
                scene.connect(tls: tls, events: events)
            }
            await events.wait(count: 1)
            await scene.with { scene in
                for number in 1...3 { _ = scene.submit(number) }
            }
            let all = await events.wait { $0.contains(where: \.isClosed) }
            #expect(all.contains(.answered(1, 200, id: "id-1")))
            #expect(all.contains(.answered(2, 200, id: "id-2")))
            let third = all.contains(.unanswered(3, .notProcessed)) || all.contains(.answered(3, 200, id: "id-3"))
            #expect(third)
            #expect("\(all.last!)".contains("GOAWAY"))
        }
    }

    @Test("A reset connection reports each request once") func aResetConnectionReportsEveryRequestOnce() async throws {
        try await withScene { scene, events, _ in
            let tls = try TestCertificates.shared.clientContext(alpn: ["h2"])
            await scene.with { scene in
                var count = 0
                scene.server.behavior = { connection, stream, _, id in
                    count += 1
                    if count <= 20 {
                        connection.engine.answer(
                            stream, status: HTTP2Status(200), fields: [("apns-id", id)], body: [])
                    }
                    if count == 60 { connection.channel.abort() }
                }
                scene.connect(tls: tls, events: events)
            }
            await events.wait(count: 1)
            await scene.with { scene in
                for number in 0..<100 { _ = scene.submit(number) }
            }
            let all = await events.wait { $0.contains(where: \.isClosed) }
            let ended = all.compactMap { event -> UInt64? in
                switch event {
                case .answered(let tag, _, id: _), .unanswered(let tag, _): tag
                default: nil
                }
            }
            #expect(ended.sorted() == (0..<100).map { UInt64($0) })
            #expect(all.last?.isClosed == true)
        }
    }
}
