import PushModel

/// `/v1/backlog`: what waits and cannot go out.
enum BacklogRoutes {
    struct Dropped: Codable, Sendable, Equatable {
        let app: String
        /// Messages that waited, and end now.
        let messages: Int
    }

    /// - Parameter drop: ends what waits of an app without a gateway, and says how many messages those are; nil for an app
    ///   that has a gateway, or of which nothing ever waited.
    static func all(drop: @escaping @Sendable (AppID) async -> Int?) -> [ControlRoute] {
        [
            ControlRoute(.post, "/v1/backlog/{app}/drop") { request in
                guard let app = AppID(request.parameter("app")) else {
                    throw ControlFault.unknownApp(PlainText.line(request.parameter("app"), limit: 80))
                }
                guard let count = await drop(app) else {
                    throw ControlFault(
                        409, "not_waiting",
                        "the app \"\(app)\" has a gateway, or nothing waits of it; only what waits of an app without one, "
                            + "because it left the configuration or its credential cannot be used, can be dropped"
                    )
                }
                return Dropped(app: app.name, messages: count)
            }
        ]
    }
}
