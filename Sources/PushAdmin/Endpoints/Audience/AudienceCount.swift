import PushLoop
package import PushModel

/// Counts the devices of audiences, page by page and up to a limit. One count runs at a time, so that the router, which
/// reads the same file, waits for at most one page.
package actor AudienceCount {
    /// The number of devices after which the count ends.
    package static let most = 100_000
    package static let shown = 10
    private static let pageSize = 2000
    /// The number of requests that may wait.
    private static let mostWaiting = 16

    package enum Failure: Error, Sendable {
        case busy
    }

    private let registry: any DeviceRegistry
    private let most: Int
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(_ registry: any DeviceRegistry, most: Int = AudienceCount.most) {
        self.registry = registry
        self.most = most
    }

    package func count(_ audience: Audience, app: AppID) async throws -> AudienceAnswer {
        if isBusy {
            guard waiting.count < Self.mostWaiting else { throw Failure.busy }
            await withCheckedContinuation { waiting.append($0) }
        }
        isBusy = true
        defer { if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() } }
        var answer = AudienceAnswer(count: 0, isComplete: false, devices: [], inactive: 0, unknown: 0)
        var cursor: AudienceCursor?
        repeat {
            let page = try await registry.page(of: audience, app: app, after: cursor, limit: Self.pageSize)
            answer.count += page.devices.count
            answer.inactive += page.inactive.count
            answer.unknown += page.unknown.count
            answer.devices += page.devices.prefix(Self.shown - answer.devices.count).map(\.id.description)
            cursor = page.next
        } while cursor != nil && answer.count + answer.inactive + answer.unknown < most
        answer.isComplete = cursor == nil
        return answer
    }
}
