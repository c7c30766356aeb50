package import PushModel

/// The apps of the configuration in force.
package struct KnownApps: Sendable {
    private let all: (@Sendable () async -> [AppID])?
    private let environment: (@Sendable (AppID) -> PushEnvironment?)?

    /// Creates the list.
    ///
    /// - Parameters:
    ///   - all: returns the apps; if it is nil, any app is accepted.
    ///   - environment: returns the environment of an app, or nil if there is no such app.
    package init(
        _ all: (@Sendable () async -> [AppID])?, environment: (@Sendable (AppID) -> PushEnvironment?)? = nil
    ) {
        self.all = all
        self.environment = environment
    }

    /// Throws `unknown_app` unless the app is in the configuration. The caller must have a right for the app: one that
    /// is limited to some apps does not get this far with the name of another.
    func check(_ app: AppID) async throws(Problem) {
        guard let known = await all?(), !known.contains(app) else { return }
        throw .unknownApp(app.name, among: known.map(\.name))
    }

    /// Throws `unknown_app` unless the app is in the configuration, and `invalid` unless it has this environment.
    ///
    /// Registrations call it thousands of times a second, so it does not ask the gateways.
    func check(_ app: AppID, has wanted: PushEnvironment?) async throws(Problem) {
        guard let environment else { return try await check(app) }
        guard let own = environment(app) else { throw .unknownApp(app.name) }
        guard wanted == nil || wanted == own else {
            throw .invalid(
                InputFault(
                    .badValue, at: .pointer("/environment"),
                    detail: "the app \"\(app)\" uses the environment \(own.rawValue); a token of the environment "
                        + "\(wanted?.rawValue ?? "-") belongs to another app"))
        }
    }

    /// Returns the apps; nil if any app is accepted.
    func list() async -> [AppID]? { await all?() }
}
