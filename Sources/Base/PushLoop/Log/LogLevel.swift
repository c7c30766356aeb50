/// The severity of a log line. An output writes lines of its own level and above.
package enum LogLevel: UInt8, Comparable, CaseIterable, Sendable {
    /// Single steps of a protocol.
    case trace
    /// Details that help a developer to find a problem.
    case debug
    /// Events of normal operation.
    case info
    /// Normal events that deserve attention: a rotated credential, a stopped loop.
    case notice
    /// Problems that Carillon survives but that an operator should know about.
    case warning
    /// Requested operations that failed.
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

    /// Returns the level with the given name, as in the configuration and on the command line.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}
