/// Why a connection ended.
package struct ConnectionEnd: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The name cannot be resolved, there is no route, the peer refused, or the connection timed out.
        case unreachable
        /// The peer rejects this side's certificate. Every further attempt fails the same way until an operator acts.
        case credential
        /// TLS or HTTP/2 failed, for instance because of the peer's certificate. Another address may work.
        case broken
        /// The peer was connected and then gave no sign of life.
        case silent
        /// The peer ended the connection in good order.
        case goAway
        /// The same, in a protocol that ends the connection with each notification that it refuses. The connection had
        /// been of use.
        case errorPacket
        /// The connection was lost, reset or closed without a notice.
        case lost
        /// This side closed the connection.
        case byUs
    }

    package let kind: Kind
    package let fault: ConnectionFault

    package init(_ kind: Kind, fault: ConnectionFault) {
        self.kind = kind
        self.fault = fault
    }

    /// - Parameters:
    ///   - message: What happened, where, and what to do.
    ///   - reason: The reason that the peer gave in its GOAWAY.
    package init(_ kind: Kind, message: String, reason: ProviderReason? = nil) {
        self.init(kind, fault: ConnectionFault(kind.code, sentence: message, reason: reason))
    }

    package var message: String { fault.sentence }
    package var reason: ProviderReason? { fault.reason }
}

extension ConnectionEnd.Kind {
    /// The code for ends without a more specific one.
    fileprivate var code: ConnectionFault.Code {
        switch self {
        case .unreachable: .unreachable
        case .credential: .certificateRefused
        case .broken: .badProtocol
        case .silent: .silent
        case .goAway, .errorPacket: .goAway
        case .lost: .reset
        case .byUs: .closed
        }
    }
}
