package import PushModel

/// The apps of the configuration in force.
package struct KnownApps: Sendable {
    private let all: (@Sendable () async -> [AppID])?

    /// Creates the list.
    ///
    /// - Parameter all: returns the apps; if it is nil, any app is accepted.
    package init(_ all: (@Sendable () async -> [AppID])?) {
        self.all = all
    }

    /// Throws `unknown_app` unless the app is in the configuration.
    func check(_ app: AppID) async throws(Problem) {
        guard let known = await all?(), !known.contains(app) else { return }
        throw .unknownApp(app.name)
    }

    /// Returns the apps; nil if any app is accepted.
    func list() async -> [AppID]? { await all?() }
}
