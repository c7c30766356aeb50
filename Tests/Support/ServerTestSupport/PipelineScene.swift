package import PushAPI
package import PushLoop
package import PushModel
import PushTransport
import TestSupport

package final class FakeStatistics: PipelineStatistics {
    package let answers: Locked<[StatsAnswer]>

    package init(_ answers: [StatsAnswer]) {
        self.answers = Locked(answers)
    }

    /// Returns the answers in turn, and then always the last one.
    package func snapshot(of node: NodeID?, hasHistory: Bool) async throws -> StatsAnswer {
        if let node { throw Problem.unknownNode(node.name) }
        return answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
}

/// A control server with fakes instead of a pipeline.
package struct PipelineScene: Sendable {
    package let control: RunningControl
    package let devices: FakeDevices
    package let events: FakeEvents
    package let streams: EventStreams

    package static let identities = Identities(secret: Array(0..<32))!
    /// Longer than any test takes on a busy machine, so that a wait ends by an event and not by its time limit.
    package static let maxWait: UInt64 = 3600
    package static let shop = AppID("shop")!
    package static let news = AppID("news")!

    package static func token(_ number: UInt8) -> Address {
        Address(bytes: [UInt8](repeating: number, count: 32))!
    }

    package static func id(_ number: UInt8, app: AppID = shop) -> DeviceID {
        identities.device(of: app, token: token(number))
    }
}

package func withPipeline(
    statistics: [StatsAnswer] = [StatsAnswer(at: 2000, startedAt: 1000, ready: true)], parts: Int = 1,
    body: (PipelineScene) async throws -> Void
) async throws {
    let devices = FakeDevices(PipelineScene.identities)
    let events = FakeEvents(parts: parts)
    let streams = EventStreams()
    let endpoints = { (loop: EventLoop) in
        PipelineEndpoints.all(
            on: loop, streams: streams, devices: devices, events: events, waiting: events.waiting,
            statistics: FakeStatistics(statistics),
            identities: PipelineScene.identities, apps: .sample([PipelineScene.shop, PipelineScene.news]),
            maxWait: PipelineScene.maxWait)
    }
    try await withControl(limits: .patient, more: endpoints) { control in
        do {
            try await body(PipelineScene(control: control, devices: devices, events: events, streams: streams))
        } catch {
            await streams.end()
            throw error
        }
        await streams.end()
    }
}

extension HTTP1Limits {
    /// The limits of the control socket, with times that are long enough for a machine that is busy with other tests.
    fileprivate static var patient: HTTP1Limits {
        var limits = HTTP1Limits.controlSocket
        limits.headerTime = .seconds(600)
        limits.bodyTime = .seconds(600)
        limits.idleTime = .seconds(600)
        limits.stallTime = .seconds(600)
        return limits
    }
}
