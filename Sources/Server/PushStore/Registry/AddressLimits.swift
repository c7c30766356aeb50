import PushLoop
package import PushModel

/// How many addresses an installation of each app may have. A reload changes it.
package final class AddressLimits: Sendable {
    /// The limit of apps that have none of their own.
    package static let standard = 64

    private let limits: Locked<[AppID: Int]>

    package init(_ limits: [AppID: Int] = [:]) {
        self.limits = Locked(limits)
    }

    package func replaceAll(with limits: [AppID: Int]) { self.limits.withLock { $0 = limits } }

    func limit(of app: AppID) -> Int { limits.withLock { $0[app] ?? Self.standard } }
}
