/// Where the client logs, and from which level on. The default logs nothing.
///
/// With swift-log:
///
/// ```swift
/// let log = ClientLog { level, message, fields in
///     logger.log(
///         level: .init(rawValue: level.rawValue) ?? .info, "\(message)",
///         metadata: fields.mapValues { .string($0) })
/// }
/// ```
///
/// No line has a key, a token or a payload.
public struct ClientLog: Sendable {
    /// The importance of a line, named as in swift-log.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// For finding faults in this library.
        case debug
        /// A change of state, such as a new connection.
        case info
        /// A fault that the client will get over, such as a lost connection.
        case warning
        /// A fault that somebody has to correct, such as a refused key.
        case error
    }

    private let write: @Sendable (Level, String, [String: String]) -> Void

    /// Creates a log. The closure is called on a thread of the client and must not block.
    public init(_ write: @escaping @Sendable (_ level: Level, _ message: String, _ fields: [String: String]) -> Void) {
        self.write = write
    }

    /// The log that drops every line.
    public static let none = ClientLog { _, _, _ in }

    func callAsFunction(_ level: Level, _ message: String, _ fields: [String: String] = [:]) {
        write(level, message, fields)
    }
}
