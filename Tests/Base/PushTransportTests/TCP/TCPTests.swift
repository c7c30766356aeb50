import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite struct AddressTests {
    @Test(
        "Valid places are parsed",
        arguments: [
            ("127.0.0.1:80", "127.0.0.1", 80), ("example.com:443", "example.com", 443), ("[::1]:0", "::1", 0),
            ("localhost:65535", "localhost", 65535),
        ])
    func placesAreRead(text: String, host: String, port: UInt16) throws {
        let endpoint = try #require(HostPort(text))
        #expect(endpoint == HostPort(host: host, port: port))
        #expect(endpoint.description == text)
    }

    @Test(
        "Invalid places are rejected",
        arguments: ["", ":80", "host", "host:", "host:65536", "host:-1", "host:+1", "::1:80", "host:8 0", "[]:1"])
    func badPlacesAreRefused(text: String) {
        #expect(HostPort(text) == nil)
    }

    @Test("Addresses know their properties") func addressesKnowThemselves() throws {
        let four = try #require(SocketAddress(ip: "127.0.0.1", port: 2197))
        #expect(four.description == "127.0.0.1:2197")
        #expect(four.port == 2197 && four.isLoopback)
        let six = try #require(SocketAddress(ip: "::1", port: 443))
        #expect(six.description == "[::1]:443")
        #expect(six.isLoopback)
        #expect(SocketAddress(ip: "8.8.8.8", port: 1)?.isLoopback == false)
        #expect(SocketAddress(ip: "localhost", port: 1) == nil)
    }
}

/// A handler that records the events of a channel and writes a greeting when it opens.
private final class Talker: ChannelHandler {
    let events: EventRecorder<String>
    let name: String
    let greeting: [UInt8]
    var channel: Channel?
    var received: [UInt8] = []

    init(_ name: String, greeting: [UInt8] = [], events: EventRecorder<String>) {
        self.name = name
        self.greeting = greeting
        self.events = events
    }

    func channelOpened(_ channel: Channel) {
        events.record("\(name) opened")
        channel.write(greeting)
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        received.append(contentsOf: bytes)
        events.record("\(name) received \(received.count)")
    }

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        events.record("\(name) closed: \(reason)")
    }
}

/// The objects of one test that belong to its loop.
private final class Scene {
    let loop: EventLoop
    let resolver: NameResolver
    var listener: TCPListener?
    var connectors: [TCPConnector] = []
    var talkers: [Talker] = []

    init(on loop: EventLoop, resolver: NameResolver) {
        self.loop = loop
        self.resolver = resolver
    }

    func listen(host: String = "127.0.0.1", greeting: [UInt8] = [], events: EventRecorder<String>) throws {
        listener = try TCPListener(on: loop, at: HostPort(host: host, port: 0)) { [unowned self] socket in
            add(Talker("server", greeting: greeting, events: events), socket)
        }
    }

    func connect(
        to endpoint: HostPort, within time: Duration = .seconds(300), greeting: [UInt8] = [],
        events: EventRecorder<String>, admits: (@Sendable ([SocketAddress]) -> Bool)? = nil
    ) {
        connectors.append(
            TCPConnector(
                on: loop, to: endpoint, resolver: resolver, deadline: loop.now + time, admits: admits
            ) {
                [unowned self] result in
                switch consume result {
                case .connected(let socket, let address):
                    events.record("connected to \(address)")
                    add(Talker("client", greeting: greeting, events: events), socket)
                case .failed(let error):
                    events.record("failed: \(error)")
                }
            })
    }

    private func add(_ talker: Talker, _ socket: consuming Socket) {
        talkers.append(talker)
        let channel = Channel(socket, on: loop, tls: nil, handler: talker)
        talker.channel = channel
        channel.start()
    }

    func stop() {
        for connector in connectors { connector.cancel() }
        for talker in talkers { talker.channel?.abort() }
        listener?.close()
    }
}

@Suite(.waits) struct TCPTests {
    private func withScene(
        clock: LoopClock = .monotonic, lookUp: NameResolver.LookUp? = nil,
        _ body: (LoopBound<Scene>, EventRecorder<String>) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "tcp-test", clock: clock)
        let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 4)
        let resolver = NameResolver(pool: pool, lookUp: lookUp)
        let scene = await loop.run { LoopBound(Scene(on: loop, resolver: resolver), on: loop) }
        try await body(scene, EventRecorder<String>())
        await scene.with { $0.stop() }
        await loop.shutDown()
        await pool.shutDown()
    }

    /// Connects a client to a server, and waits for both.
    private func openBoth(in scene: LoopBound<Scene>, events: EventRecorder<String>) async throws {
        try await scene.with { scene in
            try scene.listen(events: events)
            scene.connect(to: HostPort(host: "127.0.0.1", port: scene.listener!.address.port), events: events)
        }
        await events.wait { $0.contains("server opened") && $0.contains("client opened") }
    }

    @Test("Bytes are transferred in both directions") func bytesGoBothWays() async throws {
        try await withScene { scene, events in
            let large = [UInt8](repeating: 7, count: 3_000_000)
            try await scene.with { scene in
                try scene.listen(greeting: large, events: events)
                scene.connect(
                    to: HostPort(host: "127.0.0.1", port: scene.listener!.address.port), greeting: [1, 2, 3],
                    events: events)
            }
            await events.wait { $0.contains("client received 3000000") && $0.contains("server received 3") }
            let isWhole = await scene.with { scene in scene.talkers.contains { $0.received == large } }
            #expect(isWhole)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `A host whose addresses are not admitted is refused before anything is dialled`(host: String) async throws {
        try await withScene { scene, events in
            let seen = Locked<[String]>([])
            try await scene.with { scene in
                try scene.listen(events: events)
                scene.connect(
                    to: HostPort(host: host, port: scene.listener!.address.port), events: events
                ) { addresses in
                    seen.withLock { $0 = addresses.map(\.ip) }
                    return false
                }
            }
            await events.wait { $0.contains { $0.hasPrefix("failed: ") } }
            #expect(seen.withLock { $0 }.contains("127.0.0.1"))
            // What was dialled would have been opened by now: the listener takes another connection.
            await scene.with { scene in
                scene.connect(
                    to: HostPort(host: "127.0.0.1", port: scene.listener!.address.port), events: events
                ) { $0.map(\.ip) == ["127.0.0.1"] }
            }
            let all = await events.wait { $0.contains("server opened") && $0.contains("client opened") }
            #expect(all.count { $0 == "server opened" } == 1)
            #expect(all.contains { $0.contains("\(host): the name leads to a private address") })
        }
    }

    @Test func `A name that leads elsewhere after its check is looked up once, and the checked address is dialled`()
        async throws
    {
        let lookUps = Locked(0)
        // The first answer may be connected to. The second one leads to the machine itself.
        let lookUp: NameResolver.LookUp = { endpoint in
            let number = lookUps.withLock { count in
                count += 1
                return count
            }
            return [SocketAddress(ip: number == 1 ? "127.0.0.2" : "127.0.0.1", port: endpoint.port)!]
        }
        try await withScene(lookUp: lookUp) { scene, events in
            let dial: @Sendable (Scene, UInt16) -> Void = { scene, port in
                scene.connect(to: HostPort(host: "rebinding.example", port: port), events: events) {
                    $0.map(\.ip) == ["127.0.0.2"]
                }
            }
            let port = try await scene.with { scene in
                try scene.listen(host: "127.0.0.2", events: events)
                let port = scene.listener!.address.port
                dial(scene, port)
                return port
            }
            let first = await events.wait { $0.contains("client opened") && $0.contains("server opened") }
            #expect(first.contains("connected to 127.0.0.2:\(port)") && lookUps.withLock { $0 } == 1)
            await scene.with { dial($0, port) }
            await events.wait { $0.contains { $0.hasPrefix("failed: ") && $0.contains("private address") } }
            #expect(lookUps.withLock { $0 } == 2)
        }
    }

    @Test("A slow reader stops the writer") func theSlowReaderHoldsUpTheWriter() async throws {
        try await withScene { scene, events in
            try await openBoth(in: scene, events: events)
            await scene.with { scene in
                scene.talkers.first { $0.name == "server" }!.channel!.isReadingPaused = true
                scene.talkers.first { $0.name == "client" }!.channel!.write([UInt8](repeating: 7, count: 20_000_000))
            }
            // One tick later the kernel's buffers are full.
            let congested = await scene.with { scene in
                scene.talkers.first { $0.name == "client" }!.channel!.isCongested
            }
            #expect(congested)
            await scene.with { scene in
                scene.talkers.first { $0.name == "server" }!.channel!.isReadingPaused = false
            }
            await events.wait { $0.contains("server received 20000000") }
        }
    }

    /// Output that waits for a slow reader, and also what the kernel holds, is lost when the writer may not write any
    /// more.
    @Test func `A channel that may not write resets the connection`() async throws {
        try await withScene { scene, events in
            try await openBoth(in: scene, events: events)
            let mayWrite = Locked(true)
            await scene.with { scene in
                scene.talkers.first { $0.name == "server" }!.channel!.isReadingPaused = true
                let client = scene.talkers.first { $0.name == "client" }!.channel!
                client.mayWrite = { mayWrite.withLock { $0 } }
                client.write([UInt8](repeating: 7, count: 20_000_000))
            }
            let sent = await scene.with { scene in
                mayWrite.withLock { $0 = false }
                scene.talkers.first { $0.name == "server" }!.channel!.isReadingPaused = false
                return scene.talkers.first { $0.name == "client" }!.channel!.bytesSent
            }
            let all = await events.wait { all in
                all.contains { $0.hasPrefix("client closed") } && all.contains { $0.hasPrefix("server closed") }
            }
            #expect(sent > 0 && sent < 20_000_000)
            let read = await scene.with { scene in scene.talkers.first { $0.name == "server" }!.received.count }
            #expect(read <= Int(sent))
            #expect(all.last { $0.hasPrefix("client closed") }?.contains("lost") == true)
        }
    }

    /// The server sends the reason and disconnects while the client writes. The client must read the reason although
    /// its writes fail.
    @Test("The last bytes of a peer are read when a write fails")
    func theLastWordsOfAPeerAreReadWhenAWriteFails() async throws {
        try await withScene { scene, events in
            try await openBoth(in: scene, events: events)
            await scene.with { scene in
                scene.talkers.first { $0.name == "client" }!.channel!.isReadingPaused = true
                scene.talkers.first { $0.name == "server" }!.channel!.write([1, 2, 3])
            }
            // The reset arrives before the client writes, and the client writes before it reads.
            await scene.with { scene in
                scene.talkers.first { $0.name == "server" }!.channel!.abort()
                let client = scene.talkers.first { $0.name == "client" }!.channel!
                client.isReadingPaused = false
                client.write([9])
            }
            let all = await events.wait { $0.contains { $0.hasPrefix("client closed") } }
            #expect(all.contains("client received 3"))
            #expect(all.last { $0.hasPrefix("client closed") }?.contains("lost") == true)
        }
    }

    @Test("A closing channel does not wait forever for its peer to read")
    func aChannelThatClosesDoesNotWaitForEverForItsPeerToRead() async throws {
        try await withScene(clock: .manual()) { scene, events in
            try await openBoth(in: scene, events: events)
            await scene.with { scene in
                scene.talkers.first { $0.name == "client" }!.channel!.isReadingPaused = true
                let server = scene.talkers.first { $0.name == "server" }!.channel!
                server.write([UInt8](repeating: 7, count: 20_000_000))
                server.close()
            }
            await scene.loop.advance(by: .seconds(4))
            #expect(!events.events.contains { $0.hasPrefix("server closed") })
            await scene.loop.advance(by: .seconds(2))
            await events.wait { $0.contains("server closed: closed by this side") }
        }
    }

    @Test("Names are resolved and all addresses are tried") func namesAreLookedUpAndAllAddressesTried() async throws {
        try await withScene { scene, events in
            // `localhost` may be ::1 first, where nothing listens. The other address must still be tried.
            try await scene.with { scene in
                try scene.listen(events: events)
                scene.connect(to: HostPort(host: "localhost", port: scene.listener!.address.port), events: events)
            }
            let all = await events.wait { $0.contains { $0.hasPrefix("connected") || $0.hasPrefix("failed") } }
            #expect(all.contains { $0.hasPrefix("connected to 127.0.0.1:") })
        }
    }

    @Test("A deadline in the past times out") func noTimeIsNoConnection() async throws {
        try await withScene { scene, events in
            try await scene.with { scene in
                try scene.listen(events: events)
                scene.connect(
                    to: HostPort(host: "localhost", port: scene.listener!.address.port), within: .seconds(-1),
                    events: events)
            }
            let all = await events.wait(count: 1)
            #expect(all[0].contains("timed out"))
        }
    }

    @Test("A cancelled attempt does not call its completion") func aCancelledAttemptSaysNothing() async throws {
        try await withScene { scene, events in
            try await scene.with { scene in
                try scene.listen(events: events)
                let endpoint = HostPort(host: "localhost", port: scene.listener!.address.port)
                scene.connect(to: endpoint, events: events)
                scene.connectors[0].cancel()
                scene.connect(to: endpoint, events: events)
            }
            await events.wait { $0.contains("client opened") }
            #expect(events.events.count { $0.hasPrefix("connected") } == 1)
        }
    }

    @Test("A used port gives an error with advice") func aTakenPortSaysWhatToDo() async throws {
        try await withScene { scene, events in
            let message = await scene.with { scene in
                do {
                    try scene.listen(events: events)
                    _ = try TCPListener(
                        on: scene.loop, at: HostPort(host: "127.0.0.1", port: scene.listener!.address.port)
                    ) { _ in }
                    return "no error"
                } catch {
                    return "\(error)"
                }
            }
            #expect(message.contains("another process listens there"))
        }
    }

    /// Input that the peer still sends must not reset the connection before the peer has read the last output.
    @Test("The last output arrives although the peer is still sending")
    func lastWordsArriveThoughThePeerIsStillTalking() async throws {
        try await withScene { scene, events in
            try await scene.with { scene in
                try scene.listen(greeting: Array("bye".utf8), events: events)
                scene.connect(
                    to: HostPort(host: "127.0.0.1", port: scene.listener!.address.port), events: events)
            }
            await events.wait { $0.contains("server opened") && $0.contains("client opened") }
            await scene.with { scene in
                let client = scene.talkers.first { $0.name == "client" }!
                client.channel!.isReadingPaused = true
                client.channel!.write([UInt8](repeating: 1, count: 2_000_000))
                scene.talkers.first { $0.name == "server" }!.channel!.close()
            }
            // Some ticks of input that the server drops.
            for _ in 0..<20 { await scene.with { _ in } }
            await scene.with { scene in
                scene.talkers.first { $0.name == "client" }!.channel!.isReadingPaused = false
            }
            let all = await events.wait { $0.contains { $0.hasPrefix("client closed") } }
            #expect(all.contains("client received 3"))
            #expect(all.contains("client closed: closed by the peer"))
            await events.wait { $0.contains("server closed: closed by this side") }
        }
    }

    @Test("A closed channel closes its descriptor") func aClosedChannelGivesItsDescriptorBack() async throws {
        try await withScene { scene, events in
            try await scene.with { try $0.listen(events: events) }
            for round in 1...3 {
                await scene.with { scene in
                    scene.connect(
                        to: HostPort(host: "127.0.0.1", port: scene.listener!.address.port), greeting: [1],
                        events: events)
                }
                await events.wait { $0.count { $0 == "server received 1" } == round }
                await scene.with { scene in
                    // The channel is retained, but its end must reach the peer anyway.
                    scene.talkers.last { $0.name == "client" }!.channel!.close()
                }
                await events.wait { $0.count { $0.hasPrefix("server closed") } == round }
            }
            #expect(events.events.count { $0 == "server closed: closed by the peer" } == 3)
        }
    }

    /// Nobody else would release the channel, which retains itself until it has closed.
    @Test func `A channel that waits for its peer ends with its loop`() async throws {
        try await withScene { scene, events in
            let address = try await scene.with { scene in
                try scene.listen(events: events)
                return HostPort(host: "127.0.0.1", port: scene.listener!.address.port)
            }
            let pool = BlockingPool(name: "resolve-2", threadCount: 1, queueLimit: 4)
            let loop = EventLoop(name: "client")
            let client = await loop.run { LoopBound(Scene(on: loop, resolver: NameResolver(pool: pool)), on: loop) }
            await client.with { $0.connect(to: address, events: events) }
            await events.wait { $0.contains("server opened") && $0.contains("client opened") }
            // The peer reads nothing, so that it does not close either.
            await scene.with { $0.talkers[0].channel!.isReadingPaused = true }
            await client.with { $0.talkers[0].channel!.close(within: .seconds(3600)) }
            await loop.shutDown()
            await pool.shutDown()
            #expect(events.events.contains("client closed: closed by this side"))
        }
    }
}
