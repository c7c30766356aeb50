package import PushModel

/// `POST /v1/backlog/{app}/drop`: drops waiting messages that cannot be sent.
package struct DropBacklog: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "An app without a gateway.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/backlog/{app}/drop", id: "dropBacklog", access: .role(.operate), subject: "Messages",
        summary: "Drops the waiting messages of an app that has no gateway.", problems: [.conflict],
        records: [.operatorDrop])

    private let drop: @Sendable (AppID) async -> Int?

    /// Creates the endpoint.
    ///
    /// - Parameter drop: drops the waiting messages of an app without a gateway and returns their number; returns nil
    ///   for an app that has a gateway, or that never had waiting messages.
    package init(drop: @escaping @Sendable (AppID) async -> Int?) {
        self.drop = drop
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<DroppedAnswer> {
        try caller.check(input.app)
        guard let count = await drop(input.app) else {
            throw Problem(
                .conflict,
                detail: "the app \"\(input.app)\" has a gateway, or no messages of it are waiting; only messages of an "
                    + "app without a gateway can be dropped: one that was removed from the configuration, or whose "
                    + "credential cannot be used")
        }
        return Reply(
            DroppedAnswer(app: input.app.name, messages: count),
            change: OperatorChange(
                .operatorDrop, app: input.app, of: "waiting messages", before: "\(count)", after: "0"))
    }
}
