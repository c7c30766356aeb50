import PushLoop
import PushTransport
import Testing

/// Who gets in over CURVE, who does not, and what both sides see.
@Suite struct ZMQCurveTests {
    private struct Keys: Sendable {
        let server: CurveKeyPair
        let client: CurveKeyPair
        let stranger: CurveKeyPair

        init() throws {
            server = try .generate()
            client = try .generate()
            stranger = try .generate()
        }

        var serving: ZMQSecurity { .curveServer(secretKey: server.secretKey, domain: "push") }

        func entering(as keys: CurveKeyPair) -> ZMQSecurity {
            .curveClient(keys: keys, serverKey: server.publicKey)
        }
    }

    private static func isAuthenticationFailure(_ kind: ZMQMonitorEvent.Kind) -> Bool {
        if case .handshakeFailedAuthentication = kind { true } else { false }
    }

    private static func isProtocolFailure(_ kind: ZMQMonitorEvent.Kind) -> Bool {
        if case .handshakeFailedProtocol = kind { true } else { false }
    }

    private static func isAnyFailure(_ kind: ZMQMonitorEvent.Kind) -> Bool {
        if case .handshakeFailedNoDetail = kind { return true }
        return isAuthenticationFailure(kind) || isProtocolFailure(kind)
    }

    /// Long enough for many more attempts at the interval of these tests: another socket makes as many, in vain.
    private static func waitForRetries(_ count: Int, in world: ZMQWorld) async throws {
        let clock = try await world.peer(.push)
        try await clock.connect(world.deadEndpoint)
        for _ in 0..<count {
            let retry = await clock.event { if case .connectRetried = $0 { true } else { false } }
            #expect(retry != nil)
        }
    }

    @Test func knownClientGetsInUnderItsName() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"])
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.client)
                // What it calls itself decides nothing.
                $0.routingID = Array("somebody else".utf8)
            }
            try await dealer.connect(try await router.bind())
            #expect(try await dealer.sendPatiently([[], Array("push/1".utf8), Array("{}".utf8)]) == .sent)
            let message = try #require(await router.receive())
            #expect(message.texts.dropFirst() == ["", "push/1", "{}"])
            #expect(message.frames[0].count == 17 && message.texts[0] != "somebody else")
            #expect(message.userID == "shop")
            #expect(message.peerAddress == "127.0.0.1")
            #expect(await router.event(.handshakeSucceeded) != nil)
            #expect(await dealer.event(.handshakeSucceeded) != nil)
            #expect(handler.counts.accepted == 1)
            #expect(handler.counts.refused == 0)
        }
    }

    /// Neither takes over the other's connection nor gets its answers. Without the wait for the I/O thread the name that
    /// the client gives itself wins every other time, so this is tried with many.
    @Test func clientsThatGiveThemselvesTheSameRoutingIDAreToldApart() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(
                in: world.context, users: [keys.client.publicKey: "shop", keys.stranger.publicKey: "news"])
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let endpoint = try await router.bind()
            var seen: Set<[UInt8]> = []
            for number in 0..<20 {
                let own = number.isMultiple(of: 2) ? keys.client : keys.stranger
                let dealer = try await world.peer(.dealer, on: world.second) {
                    $0.security = keys.entering(as: own)
                    $0.routingID = Array("same".utf8)
                }
                try await dealer.connect(endpoint)
                #expect(try await dealer.sendPatiently([[UInt8(number)]]) == .sent)
                let message = try #require(await router.receive())
                #expect(message.frames[1] == [UInt8(number)])
                #expect(message.userID == (number.isMultiple(of: 2) ? "shop" : "news"))
                #expect(seen.insert(message.frames[0]).inserted && message.texts[0] != "same")
                #expect(try await router.send(message.frames[0], [UInt8(number), 1]) == .sent)
                #expect(await dealer.receive()?.frames == [[UInt8(number), 1]])
            }
            #expect(handler.counts.accepted == 20)
        }
    }

    /// A key may connect where its domains say so.
    @Test func aKnownKeyIsRefusedInAnotherDomain() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let refusals = Locked<[ZAPHandler.Refusal]>([])
            let users = [
                keys.client.publicKey: ZAPUser(id: "shop", domains: ["push"]),
                keys.stranger.publicKey: ZAPUser(id: "grafana", domains: ["events"]),
            ]
            let handler = try ZAPHandler(in: world.context, admitting: users) { refusal in
                refusals.withLock { $0.append(refusal) }
            }
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let endpoint = try await router.bind()
            let refused = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.stranger)
                $0.onlyToConnected = true
            }
            try await refused.connect(endpoint)
            #expect(await refused.event(where: Self.isAuthenticationFailure) != nil)
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.client)
            }
            try await dealer.connect(endpoint)
            #expect(try await dealer.sendPatiently([[1]]) == .sent)
            #expect(await router.receive()?.userID == "shop")
            let refusal = try #require(refusals.withLock { $0.first })
            #expect(refusal.cause == .missingRight && refusal.publicKey == keys.stranger.publicKey)
            #expect(refusal.domain == "push")
            #expect(handler.counts.accepted == 1 && handler.counts.refused == 1)
        }
    }

    @Test func withoutCurveThereIsNoName() async throws {
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let dealer = try await world.peer(.dealer, on: world.second)
            try await dealer.connect(try await router.bind())
            #expect(try await dealer.sendPatiently([[1]]) == .sent)
            let message = try #require(await router.receive())
            #expect(message.userID == nil)
            #expect(message.peerAddress == "127.0.0.1")
        }
    }

    /// Both sides hear of it, and the client does not try again: after a change of keys it needs a new socket.
    @Test func strangerIsRefusedForGood() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let refusals = Locked<[ZAPHandler.Refusal]>([])
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"]) { refusal in
                refusals.withLock { $0.append(refusal) }
            }
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.stranger)
                $0.onlyToConnected = true
            }
            try await dealer.connect(try await router.bind())
            let seen = await dealer.event(where: Self.isAuthenticationFailure)
            #expect(seen?.kind == .handshakeFailedAuthentication(status: 400))
            let reported = await router.event(where: Self.isAuthenticationFailure)
            #expect(reported?.kind == .handshakeFailedAuthentication(status: 400))

            try await Self.waitForRetries(10, in: world)
            #expect(handler.counts.refused == 1)
            #expect(handler.counts.accepted == 0)
            #expect(try await dealer.send("in?") == .wouldBlock)
            #expect(await router.waiting == 0)
            let refusal = try #require(refusals.withLock { $0.first })
            #expect(refusal.publicKey == keys.stranger.publicKey)
            #expect(refusal.domain == "push")
            #expect(refusal.address == "127.0.0.1")
            #expect(!refusal.reason.isEmpty)
        }
    }

    /// libzmq by itself would let everybody in.
    @Test func withoutAHandlerNobodyGetsIn() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.client)
                $0.onlyToConnected = true
                $0.handshakeTimeout = .milliseconds(100)
            }
            try await dealer.connect(try await router.bind())
            #expect(await router.event(where: Self.isAnyFailure) != nil)
            try await Self.waitForRetries(10, in: world)
            #expect(await router.event(where: Self.isAnyFailure) != nil)
            #expect(try await dealer.send("in?") == .wouldBlock)
            #expect(await !router.takeEvents().contains(.handshakeSucceeded))
            #expect(await !dealer.takeEvents().contains(.handshakeSucceeded))
            #expect(await router.waiting == 0)
        }
    }

    @Test func plainClientToCurveServer() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"])
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let dealer = try await world.peer(.dealer, on: world.second) { $0.onlyToConnected = true }
            try await dealer.connect(try await router.bind())
            #expect(await router.event(where: Self.isProtocolFailure) != nil)
            #expect(try await dealer.send("in?") == .wouldBlock)
            #expect(handler.counts.accepted == 0)
            #expect(await !router.takeEvents().contains(.handshakeSucceeded))
        }
    }

    @Test func curveClientToPlainServer() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let router = try await world.peer(.router)
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = keys.entering(as: keys.client)
                $0.onlyToConnected = true
            }
            try await dealer.connect(try await router.bind())
            #expect(await dealer.event(where: Self.isProtocolFailure) != nil)
            #expect(try await dealer.send("in?") == .wouldBlock)
            #expect(await !dealer.takeEvents().contains(.handshakeSucceeded))
        }
    }

    /// The client tries for ever, and without `onlyToConnected` takes messages all the while.
    @Test(arguments: [true, false])
    func wrongServerKey(onlyToConnected: Bool) async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"])
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let dealer = try await world.peer(.dealer, on: world.second) {
                $0.security = .curveClient(keys: keys.client, serverKey: keys.stranger.publicKey)
                $0.onlyToConnected = onlyToConnected
            }
            try await dealer.connect(try await router.bind())
            for _ in 0..<3 {
                #expect(await dealer.event { if case .handshakeFailedNoDetail = $0 { true } else { false } } != nil)
            }
            #expect(try await dealer.send("in?") == (onlyToConnected ? .wouldBlock : .sent))
            #expect(handler.counts.accepted == 0)
            #expect(await !router.takeEvents().contains(.handshakeSucceeded))
            #expect(await router.waiting == 0)
        }
    }

    /// New users count from the next handshake on; who is in stays in.
    @Test func usersAreReplacedAtRunTime() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"])
            let router = try await world.peer(.router) { $0.security = keys.serving }
            let endpoint = try await router.bind()

            func enter(as pair: CurveKeyPair) async throws -> ZMQPeer {
                let dealer = try await world.peer(.dealer, on: world.second) {
                    $0.security = keys.entering(as: pair)
                    $0.onlyToConnected = true
                }
                try await dealer.connect(endpoint)
                return dealer
            }

            let old = try await enter(as: keys.client)
            #expect(try await old.sendPatiently([[1]]) == .sent)
            #expect(await router.receive()?.userID == "shop")
            let early = try await enter(as: keys.stranger)
            #expect(await early.event(.handshakeFailedAuthentication(status: 400)) != nil)

            try handler.replaceUsers([keys.stranger.publicKey: "news"])
            let new = try await enter(as: keys.stranger)
            #expect(try await new.sendPatiently([[2]]) == .sent)
            #expect(await router.receive()?.userID == "news")
            let late = try await enter(as: keys.client)
            #expect(await late.event(.handshakeFailedAuthentication(status: 400)) != nil)
            #expect(try await old.sendPatiently([[3]]) == .sent)
            #expect(await router.receive()?.userID == "shop")
            #expect(handler.counts.accepted == 2)
            #expect(handler.counts.refused == 2)
            #expect(handler.counts.malformed == 0)
        }
    }

    @Test func badUsers() async throws {
        let keys = try Keys()
        try await ZMQWorld.run { world in
            for name in ["", String(repeating: "n", count: 256), "a\0b"] {
                #expect { try ZAPHandler(in: world.context, users: [keys.client.publicKey: name]) } throws: {
                    ($0 as? ZMQError)?.code == .invalidOption
                }
            }
            var many: [CurvePublicKey: String] = [:]
            for number in 0...ZAPHandler.maxUsers {
                let bytes = ZMQPeer.numbered(number, size: 32)
                if let key = bytes.withUnsafeBytes({ CurvePublicKey(bytes: $0) }) { many[key] = "user" }
            }
            let handler = try ZAPHandler(in: world.context, users: [keys.client.publicKey: "shop"])
            #expect { try handler.replaceUsers(many) } throws: { ($0 as? ZMQError)?.code == .tooManyUsers }
            #expect { try ZAPHandler(in: world.context, users: [:]) } throws: {
                ($0 as? ZMQError)?.code == .addressInUse
            }
        }
    }

    // MARK: Questions by hand

    private static let key = [UInt8](repeating: 7, count: 32)

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: [
        (["1.0", "id", "push", "192.0.2.1", "", "PLAIN", "user", "password"].map(text), "400"),
        (["1.0", "id", "push", "192.0.2.1", "", "NULL"].map(text), "400"),
        (["1.0", "id", "push", "192.0.2.1", "", "CURVE"].map(text) + [key], "400"),
        (["1.0", "id", "push", "192.0.2.1", "", "CURVE"].map(text), "500"),
        (["1.0", "id", "push", "192.0.2.1", "", "CURVE"].map(text) + [Array(key.dropLast())], "500"),
        (["1.0", "id", "push", "192.0.2.1", "", "CURVE"].map(text) + [key, key], "500"),
        (["2.0", "id", "push", "192.0.2.1", "", "NULL"].map(text), "500"),
        (["1.0", "id"].map(text), "500"),
        ([[0xff, 0xfe], text("id"), [0xff], [], [], [0xc3]], "500"),
        ([text("1.0"), text("id")] + [[UInt8]](repeating: [0xff], count: 12), "400"),
    ])
    func everyQuestionIsAnswered(question: [[UInt8]], status: String) async throws {
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [:])
            let client = try await world.peer(.req)
            try await client.connect("inproc://zeromq.zap.01")
            for round in 1...3 {
                #expect(try await client.send(frames: question) == .sent)
                let reply = try #require(await client.receive())
                try #require(reply.frames.count == 6)
                #expect(reply.texts[0] == "1.0")
                #expect(reply.texts[1] == "id")
                #expect(reply.texts[2] == status)
                #expect(reply.texts[4...] == ["", ""])
                let counts = handler.counts
                #expect(counts.accepted == 0)
                #expect((status == "500" ? counts.malformed : counts.refused) == round)
            }
        }
    }

    @Test func oneFrameIsNoQuestion() async throws {
        try await ZMQWorld.run { world in
            let handler = try ZAPHandler(in: world.context, users: [:])
            let client = try await world.peer(.req)
            try await client.connect("inproc://zeromq.zap.01")
            #expect(try await client.send("1.0") == .sent)
            #expect(await client.receive()?.texts[2] == "500")
            #expect(handler.counts.malformed == 1)
        }
    }
}
