import Foundation
import PushAPI
import PushLoop
import TestSupport
import Testing

@testable import PushServer

/// The reports to a service manager, on real sockets.
@Suite struct SupervisorTests {
    private static func abstractName() -> String { "@carillon-test-\(UUID().uuidString)" }

    @Test func `Reports arrive at a path and at an abstract name`() throws {
        let directory = try TemporaryDirectory()
        for name in [directory.path + "/notify", Self.abstractName()] {
            let peer = try NotifyPeer(name)
            let socket = try #require(NotifySocket(name))
            #expect(socket.send(["READY=1", "STATUS=Serving 1 app"]))
            #expect(peer.report() == ["READY=1", "STATUS=Serving 1 app"])
            #expect(peer.report() == nil)
        }
    }

    @Test(arguments: ["", "/", "@", "relative", "vsock:2:1234", "/a\0b", "@" + String(repeating: "n", count: 108)])
    func `An address that is not a socket's is ignored`(name: String) {
        #expect(NotifySocket(name) == nil)
        #expect(!Supervisor(["NOTIFY_SOCKET": name]).isActive)
    }

    @Test func `The longest names fit`() throws {
        let name = "@" + String(repeating: "n", count: 70) + String(UUID().uuidString.prefix(36))
        #expect(name.utf8.count == 107)
        let peer = try NotifyPeer(name)
        #expect(try #require(NotifySocket(name)).send(["READY=1"]))
        #expect(peer.report() == ["READY=1"])
    }

    @Test func `Without a service manager nothing is reported`() async {
        let supervisor = Supervisor([:])
        #expect(!supervisor.isActive)
        supervisor.ready(status: "Serving 1 app")
        supervisor.stopping(drainingWithin: .seconds(30))
        await supervisor.beat([], status: { "" })
    }

    @Test func `Each state is reported with its lines, and after a stop nothing is ready again`() throws {
        let peer = try NotifyPeer(Self.abstractName())
        let supervisor = Supervisor(["NOTIFY_SOCKET": peer.name])
        supervisor.ready(status: "Serving\n1 app")
        #expect(peer.report() == ["READY=1", "STATUS=Serving 1 app"])
        let before = MonotonicTime.current().nanoseconds / 1000
        supervisor.reloading()
        let reload = try #require(peer.report())
        #expect(reload.first == "RELOADING=1" && reload.count == 3)
        let time = try #require(Int64(reload[1].split(separator: "=")[1]))
        #expect(reload[1].hasPrefix("MONOTONIC_USEC=") && time >= before)
        supervisor.ready(status: "Serving 2 apps")
        #expect(peer.report()?.first == "READY=1")
        supervisor.stopping(drainingWithin: .seconds(30))
        #expect(peer.report()?.prefix(2) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=90000000"])
        supervisor.ready(status: "Serving 2 apps")
        #expect(peer.report() == nil)
    }

    @Test func `A loop that hangs leaves the beat out`() async throws {
        let peer = try NotifyPeer(Self.abstractName())
        let supervisor = Supervisor(["NOTIFY_SOCKET": peer.name, "WATCHDOG_USEC": "30000000"])
        let loops = LoopGroup(count: 2)
        let entered = AsyncStream<Void>.makeStream()
        let release = DispatchSemaphore(value: 0)
        loops.loops[1].execute {
            entered.continuation.yield()
            release.wait()
        }
        for await _ in entered.stream { break }
        let passed = AsyncStream<Void>.makeStream()
        let turns: [@Sendable () async -> Void] = [
            { await loops.loops[0].run { _ = passed.continuation.yield() } }, { await loops.loops[1].run {} },
        ]
        async let beat: Void = supervisor.beatOnce(turns, status: { "" })
        for await _ in passed.stream { break }
        // A beat that did not wait for the other loop would be sent meanwhile.
        for _ in 0..<100 { await loops.loops[0].run {} }
        #expect(peer.report() == nil)
        release.signal()
        await beat
        #expect(peer.report() == ["WATCHDOG=1"])
        await loops.shutDown()
    }

    @Test func `A watchdog of another process is not served`() async throws {
        let peer = try NotifyPeer(Self.abstractName())
        for (watchdog, process, beats) in [
            (["WATCHDOG_USEC": "3000000"], Int32(7), true),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"], 7, true),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"], 7, false), (["WATCHDOG_USEC": "0"], 7, false),
            (["WATCHDOG_USEC": "soon"], 7, false), ([:], 7, false),
        ] {
            let environment = watchdog.merging(["NOTIFY_SOCKET": peer.name]) { $1 }
            let supervisor = Supervisor(environment, process: process)
            #expect(supervisor.interval == (beats ? .seconds(1) : .seconds(10)))
            await supervisor.beatOnce([], status: { "" })
            #expect(peer.report() == (beats ? ["WATCHDOG=1"] : nil))
        }
    }

    @Test func `A changed status is reported once, and a state that was not taken is reported again`() async throws {
        let name = Self.abstractName()
        let supervisor = Supervisor(["NOTIFY_SOCKET": name])
        // Nobody listens yet.
        supervisor.ready(status: "Serving 1 app")
        let peer = try NotifyPeer(name)
        await supervisor.beatOnce([], status: { "Serving 1 app" })
        #expect(peer.report() == ["READY=1", "STATUS=Serving 1 app"])
        for _ in 0..<2 { await supervisor.beatOnce([], status: { "Not ready: the disk is full" }) }
        #expect(peer.report() == ["STATUS=Not ready: the disk is full"])
        #expect(peer.report() == nil)
        // While it stops, the status of parts that may have ended is not read.
        supervisor.stopping(drainingWithin: .zero)
        _ = peer.report()
        await supervisor.beatOnce(
            [],
            status: {
                Issue.record("the status was read")
                return ""
            })
        #expect(peer.report() == nil)
    }

    @Test func `A start is extended while it computes or reads`() throws {
        let peer = try NotifyPeer(Self.abstractName())
        var progress = StartProgress(.init(processorTime: .seconds(1), blocksRead: 10))
        let steps: [(Duration, Int, Bool)] = [
            (.milliseconds(1050), 10, false), (.milliseconds(1150), 10, true), (.milliseconds(1150), 11, true),
            (.milliseconds(1150), 11, false),
        ]
        let supervisor = Supervisor(["NOTIFY_SOCKET": peer.name])
        for (time, blocks, advanced) in steps {
            let result = progress.advanced(to: .init(processorTime: time, blocksRead: blocks))
            #expect(result == advanced)
            supervisor.extendStart(if: result)
            #expect(peer.report()?.first == (advanced ? "EXTEND_TIMEOUT_USEC=60000000" : nil))
        }
    }

    @Test func `The state in one sentence says what is missing`() {
        #expect(Readiness([Readiness.App]()).sentence.hasPrefix("Not ready: there is no app: add one to apps"))
        #expect(!Readiness([Readiness.App]()).ready)
        #expect(Readiness([.init(app: "shop", obstacle: nil)]).sentence == "Serving 1 app")
        #expect(
            Readiness([.init(app: "a", obstacle: nil), .init(app: "b", obstacle: "halted")]).sentence
                == "Serving 2 apps, 1 of them not ready: b: halted")
        #expect(
            Readiness([.init(app: "a", obstacle: nil)], obstacle: "the disk is full").sentence
                == "Not ready: the disk is full")
    }
}
