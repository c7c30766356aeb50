import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Connections during the stop of the simulator. `withApple` stops it and fails if something retains the service.
@Suite(.waits) struct StopTests {
    @Test("Stopping ends every kind of connection")
    func everyKindOfConnectionEnds() async throws {
        let script =
            #"{ rules: [{ match: { token: "aa*" }, latency: "1h" }, { on: "binary", packet: 1, latency: "1h" }] }"#
        let ends = EventRecorder<Bool>()
        try await withApple(script: script, clock: .manual()) { apple in
            let provider = try await apple.openWithCertificate()
            await provider.send([Push(1, device: "aaaa")])
            let legacy = try await apple.legacy(LegacyFrame.enhanced(1, device: Push.device(1)))
            await apple.until { $0.machine.log.total == 2 }
            let shaking = try RawClient(port: apple.provider.port)
            try shaking.send([0x16, 3, 1])
            await apple.until { $0.connectionCount == 3 }
            let control = try RawClient(port: apple.control.port)
            try control.send("GET /state HTTP/1.1\r\nHost: x\r\n\r\nGET /sta")
            #expect(try control.answer().status == 200)

            await apple.stopService()
            #expect(await apple.with { $0.connectionCount } == 0)
            _ = await provider.closure()
            #expect(await provider.ends(of: 1...1)[1]?.failure == .connectionLost)
            await legacy.untilClosed()
            _ = try? shaking.rest()
            _ = try? control.rest()
            // A process that another test starts holds a copy of the listeners until it executes its program.
            try await wait(while: try !apple.refusesConnections())
            ends.record(true)
        }
        #expect(ends.events == [true])
    }

    @Test("A delayed connection is closed, and does not start after the stop")
    func aConnectionThatWaitsIsClosed() async throws {
        try await withApple(script: #"{ rules: [{ on: "connect", latency: "1h" }] }"#, clock: .manual()) { apple in
            let waiting = try RawClient(port: apple.provider.port)
            try await wait(while: try !apple.control.ask("GET", "/state").text.contains(#""connections":1,"#))
            await apple.stopService()
            // The connection is closed now, not in an hour.
            #expect((try? waiting.rest()) ?? [] == [])
            await apple.loop.advance(by: .seconds(3601))
            #expect(await apple.with { $0.connectionCount } == 0)
        }
    }

    @Test("The service can stop twice and start again")
    func stoppingTwiceAndStartingAgain() async throws {
        for _ in 0..<3 {
            try await withApple { apple in
                let client = try await apple.openWithCertificate()
                #expect(await client.outcome(of: Push(1))?.status == 200)
                await apple.stopService()
            }
        }
    }

    @Test("A failed start because of a port in use leaves nothing behind")
    func aPortThatIsTakenLeavesNothingBehind() async throws {
        try await withApple { apple in
            let taken = apple.control.port
            await #expect(throws: HTTP1Error.self) {
                try await apple.loop.run {
                    var options = Apple.options(Apple.settings())
                    options.controlPort = taken
                    _ = try SimulatorService(on: apple.loop, options: options)
                }
            }
        }
    }
}
