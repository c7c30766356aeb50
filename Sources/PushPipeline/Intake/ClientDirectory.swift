package import PushTransport

/// Which key is whose: what the ZAP handler lets in, and what those may do who came in.
package struct ClientDirectory: Sendable, Equatable {
    package typealias Client = Rights.Client

    package let clients: [CurvePublicKey: Client]

    package init(_ clients: [CurvePublicKey: Client] = [:]) {
        self.clients = clients
    }

    /// What each key is called, for the ZAP handler.
    package var users: [CurvePublicKey: String] { clients.mapValues(\.name) }

    package var rights: Rights { Rights(Array(clients.values)) }
}
