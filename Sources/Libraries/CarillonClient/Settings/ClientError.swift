/// Why a client cannot be made or run.
public enum ClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A key is not valid.
    case invalidKey(String)
    /// A setting is not valid.
    case invalidSetting(String)
    /// The system has no room for another ZeroMQ context.
    case unavailable(String)
    /// ``CarillonClient/run()`` was called a second time.
    case alreadyRunning
    /// The spool cannot be opened.
    case spool(String)

    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .invalidKey(let text), .invalidSetting(let text), .unavailable(let text), .spool(let text): text
        case .alreadyRunning: "the client is running already, or has run; make a new one"
        }
    }
}
