import Glibc
import PushLoop
import PushTransport
import Testing

/// Typed events, typed errors.
@Suite struct ZMQMonitorTests {
    @Test func lifeOfAConnection() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            let endpoint = try await pull.bind()
            #expect(await pull.event(.listening)?.endpoint == endpoint)
            try await push.connect(endpoint)
            #expect(await push.event(.connected)?.endpoint == endpoint)
            #expect(await push.event(.handshakeSucceeded)?.endpoint == endpoint)
            #expect(await pull.event(.accepted) != nil)
            #expect(await pull.event(.handshakeSucceeded) != nil)
            await push.closeSocket()
            #expect(await push.event(.stopped) != nil)
            #expect(await pull.event(.disconnected) != nil)
            try await pull.unbind(endpoint)
            #expect(await pull.event(.closed)?.endpoint == endpoint)
        }
    }

    @Test func reconnects() async throws {
        try await ZMQWorld.run { world in
            let push = try await world.peer(.push)
            try await push.connect(world.deadEndpoint)
            for _ in 0..<3 {
                let retry = await push.event { if case .connectRetried = $0 { true } else { false } }
                guard case .connectRetried(let interval) = retry?.kind else {
                    Issue.record("no retry")
                    return
                }
                #expect(interval > .zero && interval < .seconds(1))
            }
        }
    }

    @Test func disconnectedEndpointIsLeftAlone() async throws {
        try await ZMQWorld.run { world in
            let push = try await world.peer(.push)
            let endpoint = world.deadEndpoint
            try await push.connect(endpoint)
            try await push.disconnect(endpoint)
            await #expect { try await push.disconnect(endpoint) } throws: { ($0 as? ZMQError)?.code == .notFound }
        }
    }

    /// libzmq waits for the reader of its events, and with it all sockets of the context.
    @Test func closedMonitorHoldsNobodyUp() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let endpoint = try await pull.bind()
            #expect(await pull.event(.listening) != nil)
            await pull.closeMonitor()
            await pull.closeMonitor()
            for round in 0..<10 {
                let push = try await world.peer(.push, on: world.second)
                try await push.connect(endpoint)
                #expect(try await push.sendPatiently([[UInt8(round)]]) == .sent)
                let message = try #require(await pull.receive(), "libzmq waits for a monitor that is gone")
                #expect(message.frames == [[UInt8(round)]])
                // Here the monitor goes while the end of its socket is still to be told.
                await push.close()
            }
            #expect(await pull.takeEvents().isEmpty)
            let other = try await world.peer(.pull)
            try await other.bind()
            await other.closeSocket()
            #expect(await other.event(.closed) != nil)
        }
    }

    @Test func nextMonitorTakesTheFirstOnesPlace() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            try await pull.monitorAgain()
            #expect(await pull.event(.stopped) != nil)
            try await pull.bind()
            #expect(await pull.signal("listening"))
            #expect(await pull.takeEvents().isEmpty)
        }
    }

    // MARK: Errors

    @Test func addressInUseNamesTheAddress() async throws {
        try await ZMQWorld.run { world in
            let first = try await world.peer(.pull)
            let second = try await world.peer(.pull)
            let endpoint = try await first.bind()
            await #expect { try await second.bind(endpoint) } throws: { error in
                guard let error = error as? ZMQError else { return false }
                return error.code == .addressInUse && error.message.contains(endpoint)
            }
        }
    }

    @Test(arguments: [
        ("tcp://192.0.2.1:5555", ZMQError.Code.addressNotAvailable),
        ("tcp://no such name:*", .noSuchDevice),
        ("gopher://127.0.0.1:1", .invalidEndpoint),
        ("127.0.0.1:1", .invalidEndpoint),
        ("", .invalidEndpoint),
        ("tcp://127.0.0.1:99999", .invalidEndpoint), ("tcp://127.0.0.1:-1", .invalidEndpoint),
    ])
    func badEndpoints(endpoint: String, code: ZMQError.Code) async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            await #expect { try await pull.bind(endpoint) } throws: { ($0 as? ZMQError)?.code == code }
        }
    }

    @Test func wrongDirection() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            guard case .failed(let error) = try await pull.send("no") else {
                Issue.record("a PULL socket sent something")
                return
            }
            #expect(error.code == .notSupported)
            await #expect { try await pull.subscribe("x") } throws: { $0 is ZMQError }
        }
    }

    @Test func badOptions() async throws {
        let changes: [@Sendable (inout ZMQSocketOptions) -> Void] = [
            { $0.sendHighWaterMark = -1 },
            { $0.receiveHighWaterMark = 1 << 40 },
            { $0.linger = .milliseconds(-5) },
            { $0.linger = .seconds(Int64.max) },
            { $0.routingID = [] },
            { $0.routingID = [0, 1] },
            { $0.routingID = [UInt8](repeating: 1, count: 256) },
            { $0.turn.messages = 0 },
        ]
        try await ZMQWorld.run { world in
            for change in changes {
                await #expect { try await world.peer(.dealer, change) } throws: {
                    ($0 as? ZMQError)?.code == .invalidOption
                }
            }
        }
    }

    @Test func tooManySockets() async throws {
        let context = try ZMQContext(maxSockets: 2)
        let loop = EventLoop(name: "sockets")
        let error = await loop.run { () -> ZMQError? in
            var sockets: [ZMQSocket] = []
            defer { for socket in sockets { socket.close() } }
            do throws(ZMQError) {
                for _ in 0..<3 { sockets.append(try ZMQSocket(.pull, in: context, on: loop)) }
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.code == .tooManySockets)
        await context.terminate()
        await loop.shutDown()
    }

    @Test func ipcPath() async throws {
        var template = Array("/tmp/carillon-test-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        let path = "\(directory)/socket"
        defer {
            unlink(path)
            rmdir(directory)
        }
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            #expect(try await pull.bind("ipc://\(path)") == "ipc://\(path)")
            try await push.connect("ipc://\(path)")
            #expect(try await push.sendPatiently([Array("over a file".utf8)]) == .sent)
            #expect(await pull.receive()?.texts == ["over a file"])
            await #expect { try await push.bind("ipc:///proc/no/such/place") } throws: { $0 is ZMQError }

            // A path on which somebody listens is not taken over.
            let thief = try await world.peer(.pull)
            await #expect { try await thief.bind("ipc://\(path)") } throws: { error in
                (error as? ZMQError)?.code == .addressInUse && "\(error)".contains("another process listens")
            }
            #expect(try await push.sendPatiently([Array("not stolen".utf8)]) == .sent)
            #expect(await pull.receive()?.texts == ["not stolen"])
        }
    }
}
