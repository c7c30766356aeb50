/// The number of one connection of one gateway. Numbers start at 1 and are never reused within the process.
package struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }
    package var description: String { "\(number)" }
}

/// An event that a connection reports to its gateway, in order. Every delivery that it was given has ended before
/// ``closed(_:)``.
package enum ConnectionEvent: Sendable, Equatable {
    /// TCP, TLS and the peer's first SETTINGS are complete: the connection accepts deliveries, `limit` of them at once.
    case ready(limit: Int)
    case limitChanged(Int)
    /// The peer accepts no more requests on the connection. Requests in flight may still be answered.
    case goAway(reason: String?)
    /// The connection itself accepts no more deliveries, because its stream ids run out or its credential was replaced.
    case retiring
    /// The peer answered the PING that the gateway requested.
    case alive
    case closed(ConnectionEnd)
}

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
        /// The connection was lost, reset or closed without a notice.
        case lost
        /// This side closed the connection.
        case byUs
    }

    package let kind: Kind
    package let fault: ConnectionFault

    package init(_ kind: Kind, _ fault: ConnectionFault) {
        self.kind = kind
        self.fault = fault
    }

    /// - Parameters:
    /// - message: What happened, where, and what to do.
    ///   - reason: The reason that the peer gave in its GOAWAY.
    package init(_ kind: Kind, _ message: String, reason: ProviderReason? = nil) {
        self.init(kind, ConnectionFault(kind.code, message, reason: reason))
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
        case .goAway: .goAway
        case .lost: .reset
        case .byUs: .closed
        }
    }
}
