/// How much a line matters. An output writes its level and what is above it.
package enum LogLevel: UInt8, Comparable, CaseIterable, Sendable {
    /// Single steps of a protocol.
    case trace
    /// What a developer follows a problem with.
    case debug
    /// What happens in normal operation.
    case info
    /// Normal, but worth a look: a credential rotated, a loop shut down.
    case notice
    /// Carillon goes on, but someone should know.
    case warning
    /// Something asked for did not happen.
    case error

    package var name: String {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        }
    }

    /// The level of that name, as configuration and command line give it.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}
