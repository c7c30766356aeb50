import Glibc
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

@Suite(.waits) struct ClientConnectionTests {
    /// The identity of an open file of this process; nil if the descriptor is closed.
    private static func identity(of descriptor: CInt) -> UInt64? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    @Test func `A name is looked up for addresses of both kinds, in turns until one leads to a connection`() {
        var one = EndpointMachine(["tcp://push.example.com:5560"])
        #expect(!one.usesIPv6)
        _ = one.failed(chance: 0)
        #expect(one.usesIPv6)
        one.succeeded()
        _ = one.failed(chance: 0)
        #expect(one.usesIPv6, "what led to a connection is tried again first")
        _ = one.failed(chance: 0)
        #expect(!one.usesIPv6)

        var pair = EndpointMachine(["tcp://a:1", "tcp://b:1"])
        pair.connected()
        for _ in 0..<2 { _ = pair.failed(chance: 0) }
        #expect(!pair.usesIPv6, "there was a connection in this round")
        for _ in 0..<2 { _ = pair.failed(chance: 0) }
        #expect(pair.usesIPv6)

        var more = EndpointMachine(["tcp://a:1", "tcp://10.0.0.7:5560", "tcp://[::1]:5560", "ipc:///run/carillon"])
        #expect(
            (0..<8).map { _ in
                defer { _ = more.failed(chance: 0) }
                return more.usesIPv6
            } == [false, false, true, false, true, false, true, false])
    }

    /// libzmq looks for news of its connections at each hundredth frame, so within a message of two frames. With
    /// ZMQ_IMMEDIATE, it would then throw away the rest of the message, and abort the process.
    @Test(arguments: [ZMQSocket.Kind.dealer, .sub])
    func `A connection that is lost between the frames of a message does not end the process`(
        _ kind: ZMQSocket.Kind
    ) async throws {
        let (loop, context, peerContext) = (EventLoop(name: "client"), try ZMQContext(), try ZMQContext())
        let peerLoop = EventLoop(name: "peer")
        let numbers = EventRecorder<Int>()
        let changes = EventRecorder<Bool>()
        let readings = EventRecorder<Bool>()
        let messages = 60

        let peer: LoopBound<ZMQSocket>
        let endpoint: String
        (peer, endpoint) = try await peerLoop.run { () throws(ZMQError) in
            let socket = try ZMQSocket(kind == .sub ? .xpub : .dealer, in: peerContext, on: peerLoop)
            let bound = try socket.bind("tcp://127.0.0.1:*")
            socket.onMessage = { [unowned socket] _ in
                for number in 0..<messages {
                    _ = socket.send { outbox in
                        outbox.add("topic")
                        outbox.add([UInt8(truncatingIfNeeded: number)])
                    }
                }
            }
            return (LoopBound(socket, on: peerLoop), bound)
        }
        let connection = try await loop.run { () throws(ZMQError) in
            let made = try ClientConnection(
                kind, to: endpoint, usesIPv6: false, in: context, on: loop, keys: nil
            ) { change in
                if case .lost = change { changes.record(false) } else { changes.record(true) }
            }
            made.socket.onMessage = { message in
                if numbers.events.isEmpty, let descriptor = message.sourceDescriptor,
                    let socket = Self.identity(of: descriptor)
                {
                    // Blocks within the first message until libzmq has received the others, and the end behind them.
                    readings.record(true)
                    while Self.identity(of: descriptor) == socket { sched_yield() }
                }
                numbers.record(Int(message.copied(1)[0]))
            }
            if kind == .sub { try made.socket.subscribe("topic") }
            return LoopBound(made, on: loop)
        }
        await changes.wait(count: 1)
        if kind == .dealer { await connection.with { _ = $0.socket.send(Array("go".utf8)) } }
        await readings.wait(count: 1)
        await peer.with { $0.close() }
        await numbers.wait(count: messages)
        await changes.wait(count: 2)
        #expect(numbers.events == Array(0..<messages) && changes.events == [true, false])

        await connection.with { $0.close() }
        await context.terminate()
        await peerContext.terminate()
        await loop.shutDown()
        await peerLoop.shutDown()
    }
}
