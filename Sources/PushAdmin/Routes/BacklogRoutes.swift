package import PushModel
import PushText

/// `/v1/backlog`: waiting messages that cannot be sent.
package enum BacklogRoutes {
    package struct Dropped: Codable, Sendable, Equatable {
        package let app: String
        /// The number of messages that were dropped.
        package let messages: Int
    }

    /// Returns the routes.
    ///
    /// - Parameter drop: drops the waiting messages of an app without a gateway and returns their number; returns nil
    ///   for an app that has a gateway, or that never had waiting messages.
    package static func all(drop: @escaping @Sendable (AppID) async -> Int?) -> [AdminRoute] {
        [
            AdminRoute(.post, at: "/v1/backlog/{app}/drop") { request in
                guard let app = AppID(request.parameter("app")) else {
                    throw AdminFault.unknownApp(PlainText.line(request.parameter("app"), limit: 80))
                }
                guard let count = await drop(app) else {
                    throw AdminFault(
                        409, code: "not_waiting",
                        message:
                            "the app \"\(app)\" has a gateway, or no messages of it are waiting; only messages of an app "
                            + "without a gateway can be dropped: one that was removed from the configuration, or whose "
                            + "credential cannot be used"
                    )
                }
                return Dropped(app: app.name, messages: count)
            }
        ]
    }
}
