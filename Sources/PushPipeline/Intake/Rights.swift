package import PushModel

/// What each client may do, by the user id that the ZAP handler gave to its connections: the client's public key.
package struct Rights: Sendable, Equatable {
    package struct Client: Sendable, Equatable {
        /// For people.
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

        package func mayConnect(to socket: PipelineSocket) -> Bool {
            switch socket {
            case .router, .pull: !push.isEmpty
            case .publish, .replay: observe
            }
        }
    }

    private let clients: [String: Client]

    package init(_ clients: [String: Client] = [:]) {
        self.clients = clients
    }

    /// Nil for a key that has been removed or replaced: its connections stay until they end by themselves.
    package func client(withUserID userID: String) -> Client? { clients[userID] }
}

/// Who is at the other end of a message, and so what it may ask for.
enum Caller {
    /// The socket asks for no keys: whoever reaches it may push.
    case anyone
    case client(Rights.Client)
    /// Authenticated with a key that has been removed or replaced since.
    case stranger(userID: String)

    /// The configured name of the client; nil without CURVE, and for a stranger.
    var name: String? {
        switch self {
        case .anyone, .stranger: nil
        case .client(let client): client.name
        }
    }

    /// Nil when it may push to `app`.
    func refusal(for app: AppID) -> Rejection? {
        switch self {
        case .anyone: nil
        case .client(let client) where client.push.contains(app): nil
        case .client(let client):
            Rejection(.forbidden, "client \(client.name) may not push to \(app): its \"push\" does not name that app")
        case .stranger(let userID):
            Rejection(
                .forbidden,
                "the key \(userID) is not in security.clients any more, and may not push to \(app): connect with the "
                    + "client's current key")
        }
    }
}
