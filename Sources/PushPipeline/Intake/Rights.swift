package import PushModel

/// What each client may do, by the name that the ZAP handler gave to its key.
package struct Rights: Sendable, Equatable {
    package struct Client: Sendable, Equatable {
        package let name: String
        /// The apps it may push to.
        package let push: Set<AppID>
        /// Whether it may subscribe to events.
        package let observe: Bool

        package init(name: String, push: Set<AppID> = [], observe: Bool = false) {
            self.name = name
            self.push = push
            self.observe = observe
        }
    }

    private let clients: [String: Client]

    package init(_ clients: [Client] = []) {
        self.clients = Dictionary(clients.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Nil for a name that is not there any more: a connection outlives the key that opened it.
    package func client(named name: String) -> Client? { clients[name] }
}

/// Who is at the other end of a message, and so what it may ask for.
enum Caller {
    /// The socket asks for no keys: whoever reaches it may push.
    case anyone
    case client(Rights.Client)
    /// Authenticated, but of no name that is known now.
    case stranger(String)

    /// Nil when it may push to `app`.
    func refusal(for app: AppID) -> Rejection? {
        switch self {
        case .anyone: nil
        case .client(let client) where client.push.contains(app): nil
        case .client(let client):
            Rejection(.forbidden, "client \(client.name) may not push to \(app): its \"push\" does not name that app")
        case .stranger(let name):
            Rejection(.forbidden, "client \(name) is not known any more, and may not push to \(app)")
        }
    }
}
