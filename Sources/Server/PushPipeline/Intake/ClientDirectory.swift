package import PushTransport

/// The clients by their public keys: the rights of each, and the sockets to which it may connect.
///
/// A client is identified by its key; the name is only for logs and messages. The user id that the ZAP handler gives to
/// a connection is the key. A key that is replaced under the same name loses its rights with the next message.
package struct ClientDirectory: Sendable, Equatable {
    package typealias Client = Rights.Client

    package let clients: [CurvePublicKey: Client]

    package init(_ clients: [CurvePublicKey: Client] = [:]) {
        self.clients = clients
    }

    /// The users for the ZAP handler. A client without the right for a socket is refused at the handshake: a
    /// subscription has no answer in which to refuse it, and a client that may send anything at all could send without
    /// end.
    package var users: [CurvePublicKey: ZAPUser] {
        clients.reduce(into: [:]) { users, entry in
            let sockets = PipelineSocket.allCases.filter(entry.value.mayConnect)
            users[entry.key] = ZAPUser(id: entry.key.z85, domains: Set(sockets.map(\.rawValue)))
        }
    }

    package var rights: Rights {
        Rights(Dictionary(uniqueKeysWithValues: clients.map { ($0.key.z85, $0.value) }))
    }

    /// The user ids of the clients that may observe.
    package var observers: Set<String> { Set(clients.filter(\.value.observe).map(\.key.z85)) }
}
