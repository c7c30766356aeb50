package import PushModel

/// Counts the devices of audiences, page by page and up to a limit.
package struct AudienceCount: Sendable {
    /// The number of devices after which the count ends.
    package static let most = 100_000
    package static let shown = 10
    private static let pageSize = 2000
    /// The number of pages after which the count ends. A page has few devices if few of those examined match.
    private static let maxPages = 100

    private let registry: any DeviceRegistry
    private let most: Int

    package init(_ registry: any DeviceRegistry, most: Int = AudienceCount.most) {
        self.registry = registry
        self.most = most
    }

    /// Counts those that a message would be sent to. Devices whose users get it by another app of the family do not
    /// count.
    package func count(_ request: PushRequest) async throws -> AudienceAnswer {
        let (audience, message) = (request.audience, request.message)
        let preferred = message.preferred
        var answer = AudienceAnswer(count: 0, isComplete: false, devices: [], inactive: 0, unknown: 0, ofOtherKinds: 0)
        if !preferred.isEmpty { answer.preferred = 0 }
        var cursor: AudienceCursor?
        for _ in 0..<Self.maxPages {
            try Task.checkCancellation()
            var page = try await registry.page(
                of: audience, app: message.app, kind: message.kind, activityType: message.activity?.type,
                after: cursor, limit: Self.pageSize)
            if !preferred.isEmpty, !page.devices.isEmpty {
                page = page.without(try await registry.outranked(page.devices.map(\.id), of: audience, by: preferred))
                answer.preferred = (answer.preferred ?? 0) + page.outranked
            }
            answer.count += page.devices.count
            answer.inactive += page.inactive.count
            answer.unknown += page.unknown.count
            answer.ofOtherKinds += page.ofOtherKinds.count
            answer.devices += page.devices.prefix(Self.shown - answer.devices.count).map(\.id.description)
            cursor = page.next
            answer.isComplete = cursor == nil
            if answer.isComplete || answer.examined >= most { break }
        }
        return answer
    }
}

extension AudienceAnswer {
    /// Adds the devices of a member of a family.
    mutating func add(_ other: AudienceAnswer, of app: AppID, service: String) {
        members = (members ?? []) + [Member(other, of: app.name, service: service)]
        if let more = other.preferred { preferred = (preferred ?? 0) + more }
        count += other.count
        isComplete = isComplete && other.isComplete
        devices += other.devices.prefix(max(0, AudienceCount.shown - devices.count))
        inactive += other.inactive
        unknown += other.unknown
        ofOtherKinds += other.ofOtherKinds
    }

    fileprivate var examined: Int { count + inactive + unknown + ofOtherKinds + (preferred ?? 0) }
}
