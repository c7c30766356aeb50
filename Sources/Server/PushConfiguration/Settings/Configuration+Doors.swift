package import PushModel

extension Configuration {
    /// The APIs of other gateways that the HTTP API also has. All are off by default.
    package struct Doors: Sendable, Equatable {
        /// The API of gorush; nil for none.
        package var gorush: Gorush?

        package struct Gorush: Sendable, Equatable {
            package static let defaultPath = "/api/push"

            /// The app of the platform 1; nil if its notifications are refused.
            package var ios: AppID?
            /// The app of the platform 2; nil if its notifications are refused.
            package var android: AppID?
            package var path = Self.defaultPath
            /// Whether an answer waits for the outcomes.
            package var isSync = false
            /// The maximum time for which it waits.
            package var wait: Duration = .seconds(5)
            /// The time within which a notification without an id of its own is the same as an equal one.
            package var dedupe: Duration = .seconds(60)

            package init(ios: AppID? = nil, android: AppID? = nil) {
                (self.ios, self.android) = (ios, android)
            }
        }
    }
}
