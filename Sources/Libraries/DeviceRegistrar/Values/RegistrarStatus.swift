/// The state of a device's registration.
public enum RegistrarStatus: Sendable, Equatable {
    /// The app has no token, or has removed it, and the server knows.
    case unregistered
    /// The server does not know the present state yet; an attempt is under way or will follow.
    case pending
    /// The server has the token and the profile. `device` is its id for the device.
    case registered(device: String)
    /// The server has refused the request. It is tried again after an hour, and when something changes.
    case refused(RegistrarProblem)
}

/// The reason why a server has refused a request.
public struct RegistrarProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of the answer.
    public var status: Int
    /// The code of the answer, such as `unauthenticated` or `invalid`.
    public var code: String
    /// The explanation of the server.
    public var detail: String

    /// The sentence for a log.
    public var description: String { "the server refused with \(status) \(code): \(detail)" }
}
