package import PushModel
import PushWire

/// The rights of each client, by the user id that the ZAP handler gave to its connections: the client's public key.
package struct Rights: Sendable, Equatable {
    package struct Client: Sendable, Equatable {
        /// The name in logs, metrics and error messages.
        package let name: String
        /// The apps to which the client may push.
        package let push: Set<AppID>
        /// Whether the client may subscribe to events.
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

    /// Returns nil for a key that was removed or replaced. Connections that were authenticated with it may still be
    /// open.
    package func client(withUserID userID: String) -> Client? { clients[userID] }
}

/// The sender of a message, which decides what the message may request.
enum Caller {
    /// The sender on a socket without CURVE, which may push to every app.
    case anyone
    case client(Rights.Client)
    /// The sender of a request that reached intake by a call.
    case direct(DirectSender)
    /// The sender used a key that was removed or replaced after it connected.
    case stranger(userID: String)

    /// The configured name of the client; nil without CURVE, and for a stranger.
    var name: String? {
        switch self {
        case .anyone, .stranger: nil
        case .client(let client): client.name
        case .direct(let sender): sender.name
        }
    }

    /// Returns nil if the caller may send the request, or else why not.
    func fault(of request: PushRequest) -> EnvelopeFault? {
        let refusal =
            if let family = request.fellows?.family { self.refusal(for: family) } else {
                self.refusal(for: request.message.app)
            }
        return refusal.map { Self.refused(request.message.id.text, $0) }
    }

    /// Returns a fault as the caller may know it: only those who may push to an app, or to all members of a family, learn
    /// what is wrong with a message to it.
    func mayKnow(_ fault: EnvelopeFault) -> EnvelopeFault {
        let refusal =
            if let family = fault.family { self.refusal(for: family) } else {
                fault.app.flatMap { self.refusal(for: $0) }
            }
        return refusal.map { Self.refused(fault.id, $0) } ?? fault
    }

    /// Its event names the app in the detail only: among the messages and events of an app are those of its producers.
    private static func refused(_ id: String?, _ refusal: Rejection) -> EnvelopeFault {
        EnvelopeFault(id: id, rejection: refusal, app: nil)
    }

    /// Returns nil if the caller may push to all members of a family, or else the rejection. It names only members to
    /// which the caller may push.
    func refusal(for family: Family) -> Rejection? {
        let refusals = family.members.map { refusal(for: $0) }
        guard refusals.contains(where: { $0 != nil }) else { return nil }
        if case .stranger = self { return refusal(for: family.name) }
        let allowed = zip(family.members, refusals).filter { $0.1 == nil }.map(\.0.name)
        let who = if case .client = self { "client \(name ?? "-")" } else { "the key \(name ?? "-")" }
        return Rejection(
            .forbidden,
            detail: "\(who) may not push to all \(family.members.count) members of the family \(family.name): "
                + (allowed.isEmpty
                    ? "its apps include none of them"
                    : "its apps include only \(allowed.joined(separator: ", "))"))
    }

    /// Returns nil if the caller may push to `app`, or else the rejection.
    func refusal(for app: AppID) -> Rejection? {
        switch self {
        case .anyone: nil
        case .client(let client) where client.push.contains(app): nil
        case .client(let client):
            Rejection(
                .forbidden, detail: "client \(client.name) may not push to \(app): its \"push\" does not list that app")
        case .direct(let sender):
            sender.apps.flatMap { apps in
                apps.contains(app)
                    ? nil
                    : Rejection(
                        .forbidden,
                        detail: "the key \(sender.name ?? "-") has no right to push to \(app): its apps do not "
                            + "include that app")
            }
        case .stranger(let userID):
            Rejection(
                .forbidden,
                detail:
                    "the key \(userID) is no longer in security.clients and may not push to \(app); connect with the "
                    + "client's current key")
        }
    }
}
