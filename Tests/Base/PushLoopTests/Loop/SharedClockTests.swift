import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLoop

@Suite struct SharedClockTests {
    /// The clock of a machine, that of a database, and the time that passes.
    private final class Scene: Sendable {
        struct Clocks {
            var passed: Int64 = 5_000_000
            /// What the clocks of the machine and of the database show besides the time that passes.
            var machine: Int64 = 1_700_000_000_000
            var database: Int64 = 1_700_000_000_000
        }

        let clocks = Locked(Clocks())
        let clock: SharedClock

        init(machineBy difference: Int64 = 0) {
            clocks.withLock { $0.machine += difference }
            let clocks = clocks
            clock = SharedClock(
                wall: { clocks.withLock { WallTime(milliseconds: $0.machine + $0.passed) } },
                sinceBoot: { clocks.withLock { Self.steady($0.passed) } })
        }

        private static func steady(_ time: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: time * 1_000_000) }

        /// Reads the database, which takes some time, and looks at its clock at some moment of it.
        func read(taking time: Int64 = 0, after: Int64 = 0) {
            let sent = clocks.withLock { $0.passed }
            clocks.withLock { $0.passed += after }
            let database = clocks.withLock { WallTime(milliseconds: $0.database + $0.passed) }
            clocks.withLock { $0.passed = sent + time }
            clock.observed(ClockReading(database, sent: Self.steady(sent), received: Self.steady(sent + time)))
        }

        func pass(_ time: Int64) { clocks.withLock { $0.passed += time } }
        func step(machineBy time: Int64) { clocks.withLock { $0.machine += time } }
        func step(databaseBy time: Int64) { clocks.withLock { $0.database += time } }

        /// The time of the shared clock minus that of the database.
        var error: Int64 {
            let now = clock.now
            return clocks.withLock { now.milliseconds - $0.database - $0.passed }
        }
    }

    private static let hour: Int64 = 3_600_000

    @Test func `Before the first reading the clock is that of the machine`() {
        let scene = Scene(machineBy: Self.hour)
        #expect(scene.error == Self.hour)
        scene.step(machineBy: -Self.hour)
        #expect(scene.error == 0)
    }

    @Test func `The clock of the database corrects one that is an hour off, in both directions`() {
        for difference in [Self.hour, -Self.hour] {
            let scene = Scene(machineBy: difference)
            scene.read()
            #expect(scene.error == 0)
        }
    }

    @Test func `A step of the machine's clock changes nothing, also if it sets the clock right`() {
        let scene = Scene(machineBy: -Self.hour)
        scene.read()
        scene.step(machineBy: Self.hour)
        #expect(scene.error == 0)
        scene.pass(100_000)
        scene.step(machineBy: 365 * 24 * Self.hour)
        #expect(scene.error == 0)
        scene.read(taking: 8, after: 3)
        #expect(scene.error == 0)
    }

    @Test func `A machine whose clock is right keeps its time, and is not moved by readings that take long`() {
        let scene = Scene(machineBy: 300)
        scene.read(taking: 40, after: 40)
        #expect(scene.error == 300)
        scene.pass(Self.hour)
        scene.read(taking: 5000, after: 4900)
        #expect(scene.error == 300)
    }

    @Test func `A reading that took longer than the difference changes nothing`() {
        let scene = Scene()
        scene.read()
        scene.step(databaseBy: Self.hour)
        scene.read(taking: 4_000_000)
        #expect(scene.error == -Self.hour)
        scene.read()
        #expect(scene.error == 0)
    }

    @Test(arguments: 0..<UInt64(RunKind.rounds(20, long: 400)))
    func `Whatever steps the clock of the machine takes, the time passes as it does and is that of the database`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        let scene = Scene(machineBy: Int64.random(in: -Self.hour...Self.hour, using: &random))
        scene.read()
        var limit: Int64 = 1000
        for _ in 0..<500 {
            let before = scene.error
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2: scene.pass(Int64.random(in: 0...600_000, using: &random))
            case 3...4: scene.step(machineBy: Int64.random(in: -100...100, using: &random) * Self.hour / 7)
            case 5:
                let step = Int64.random(in: -3...3, using: &random) * Self.hour
                scene.step(databaseBy: step)
                #expect(scene.error == before - step)
                limit = .max
                continue
            default:
                let time = Int64.random(in: 0...3000, using: &random)
                scene.read(taking: time, after: Int64.random(in: 0...time, using: &random))
                // The step of the database is larger than any of these errors.
                limit = max(1000, time) + time
                #expect(abs(scene.error) <= limit)
                continue
            }
            #expect(scene.error == before && abs(before) <= limit)
        }
    }
}
