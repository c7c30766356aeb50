import PushModel
import PushTransport

/// Who has sent a request, as events of operators name him.
package struct OperatorName: Sendable, Equatable {
    /// `key:NAME`, `uid:NUMBER` for a user of this computer, or `local` if the system does not tell the user.
    package private(set) var who: String
    /// The roles of the key.
    package private(set) var roles: String?
    /// The address from which a key was used.
    package private(set) var from: String?

    /// The name of a user of this computer.
    package init(user: UInt32?) {
        who = user.map { "uid:\($0)" } ?? "local"
    }

    init(_ caller: Caller, of request: HTTP1Request) {
        self.init(user: request.user)
        guard let key = caller.key else { return }
        who = "key:\(key.name.text)"
        roles = key.roles.description
        if case .address(let host, _) = request.peer { from = host }
    }
}
