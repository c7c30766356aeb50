import PushConfiguration
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushServer

/// Tests of reloads whose files take long to read.
@Suite(.waits) struct FileReloadsTests {
    private struct Applied: Equatable, Sendable {
        let data: String
        let changes: Int
    }

    private static func configuration(_ data: String) -> Configuration {
        var configuration = Configuration()
        configuration.data = data
        return configuration
    }

    @Test func `A reload that hangs does not block later calls, and of these only the last is applied`() async throws {
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

    @Test func `Stopping waits for the running reload, and no other begins`() async throws {
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
        // The reload hangs, so the caller learns that the loops are still needed.
        #expect(await reloads.stop(within: .zero) == false)
        reloads.add(Self.configuration("third"), changes: 1)
        hanging.withLock { $0.take() }?.resume()
        #expect(await reloads.stop(within: .seconds(600)))
        #expect(done.events == ["first"] && begun.events == ["first"])
        #expect(await FileReloads { _, _ in }.stop(within: .seconds(600)))
    }
}
