import PushLoop
import TestSupport
import Testing

@testable import carillon

/// Reloads whose files take long to read.
@Suite(.timeLimit(.minutes(10))) struct FileReloadsTests {
    private struct Applied: Equatable, Sendable {
        let data: String
        let changes: Int
    }

    private static func configuration(_ data: String) -> Configuration {
        var configuration = Configuration()
        configuration.data = data
        return configuration
    }

    @Test func `one that hangs does not hold up who adds the next, and the last one wins`() async throws {
        let (begun, done) = (EventRecorder<String>(), EventRecorder<Applied>())
        let hanging = Locked<CheckedContinuation<Void, Never>?>(nil)
        let reloads = FileReloads { configuration, changes in
            if configuration.data == "first" {
                await withCheckedContinuation { continuation in
                    hanging.withLock { $0 = continuation }
                    begun.record("first")
                }
            }
            done.record(Applied(data: configuration.data, changes: changes))
        }
        reloads.add(Self.configuration("first"), changes: 1)
        await begun.wait(count: 1)
        reloads.add(Self.configuration("second"), changes: 2)
        reloads.add(Self.configuration("third"), changes: 3)
        #expect(done.events.isEmpty)
        hanging.withLock { $0.take() }?.resume()
        #expect(
            await done.wait(count: 2) == [Applied(data: "first", changes: 1), Applied(data: "third", changes: 5)])
        reloads.add(Self.configuration("fourth"), changes: 4)
        #expect(await done.wait(count: 3).last == Applied(data: "fourth", changes: 4))
    }

    @Test func `at the end the one that runs is waited for, and no other begins`() async throws {
        let (begun, done) = (EventRecorder<String>(), EventRecorder<String>())
        let hanging = Locked<CheckedContinuation<Void, Never>?>(nil)
        let reloads = FileReloads { configuration, _ in
            await withCheckedContinuation { continuation in
                hanging.withLock { $0 = continuation }
                begun.record(configuration.data)
            }
            done.record(configuration.data)
        }
        reloads.add(Self.configuration("first"), changes: 1)
        await begun.wait(count: 1)
        reloads.add(Self.configuration("second"), changes: 1)
        // It hangs: the loops it comes back to must live on.
        #expect(await reloads.stop(within: .zero) == false)
        reloads.add(Self.configuration("third"), changes: 1)
        hanging.withLock { $0.take() }?.resume()
        #expect(await reloads.stop(within: .seconds(600)))
        #expect(done.events == ["first"] && begun.events == ["first"])
        #expect(await FileReloads { _, _ in }.stop(within: .seconds(600)))
    }
}
