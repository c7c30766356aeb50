package import PushModel
package import PushStore

/// `GET /v1/apps/{app}/messages/{id}/deliveries`: the deliveries of a message that have ended, in this order; with the
/// name of a family those of all its members.
package struct ListDeliveries: Endpoint {
    package static let maxPageSize = 1000

    package struct Input: EndpointInput {
        let app: AppID
        let id: MessageID
        let after: LogPosition
        let limit: Int

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app, or a family.")
            id = read.path("id", as: .message, about: "The message id.")
            after = read.query("after", as: .place, about: "The next of an earlier page.") ?? LogPosition()
            // All deliveries of a message are in one part.
            read.require(after.parts.count <= 1, atQuery: "after", detail: "the next of an earlier page names one part")
            limit =
                read.query("limit", as: .integer(1...maxPageSize), about: "The size of the page; 100 by default.")
                ?? 100
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/apps/{app}/messages/{id}/deliveries", id: "listDeliveries", access: .role(.observe),
        subject: "Messages",
        summary: "Returns the deliveries of a message that have ended, with their outcomes.",
        problems: [.unknownMessage])

    private let history: DeliveryHistory
    private let apps: AppCatalog

    package init(history: DeliveryHistory, apps: AppCatalog) {
        self.history = history
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DeliveryListAnswer> {
        let family = try apps.family(input.app, for: caller)
        try history.log.check(input.after, in: "after")
        let after = input.after.parts.first.map { history.log.number(of: $0.part, at: input.after) } ?? 0
        let page = try await history.list(
            input.id, apps: family?.members ?? [input.app], after: after, limit: input.limit)
        guard page.isKnown || after > 0 else { throw FindMessage.unknown(input.id) }
        let deliveries = page.deliveries.map { one in
            let shown = EventNumber.shown(one.seq)
            return DeliveryListAnswer.Delivery(
                app: family == nil ? nil : one.app.name, device: one.device?.description,
                deliveryID: one.deliveryID?.description, outcome: "\(one.kind.name)",
                status: one.status, reason: one.reason, attempt: one.attempt, seq: shown.number,
                part: shown.part == 0 ? nil : shown.part, endedAt: one.time)
        }
        let next = page.next.map { "\(LogPosition(after: $0))" }
        return Reply(DeliveryListAnswer(deliveries: deliveries, next: PageCursor(next)))
    }
}
