/// Names one connection of one gateway, from 1, never again in the life of the process.
package struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }
    package var description: String { "\(number)" }
}

/// What a connection tells its gateway, in order. Everything it was given has ended before `closed`.
package enum ConnectionEvent: Sendable, Equatable {
    /// TCP, TLS and the peer's first SETTINGS are through: it takes deliveries. `limit`: how many at once.
    case ready(limit: Int)
    case limitChanged(Int)
    /// The peer takes no more on it. What is in flight may still be answered.
    case goAway(reason: String?)
    /// Its stream ids run out, or its credential was replaced: it takes no more, by its own decision.
    case retiring
    /// The peer has answered the PING that its gateway asked for.
    case alive
    case closed(ConnectionEnd)
}

/// Why a connection ended.
package struct ConnectionEnd: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// No name, no route, refused, or nothing in time.
        case unreachable
        /// The peer does not take our certificate: it fails the same way until a person acts.
        case credential
        /// TLS or HTTP/2 went wrong, the peer's certificate included: another address may fare better.
        case broken
        /// Connected, and then no sign of life.
        case silent
        /// The peer ended it in good order.
        case goAway
        /// The connection was lost, reset or closed without a word.
        case lost
        /// We closed it.
        case byUs
    }

    package let kind: Kind
    package let fault: ConnectionFault

    package init(_ kind: Kind, _ fault: ConnectionFault) {
        self.kind = kind
        self.fault = fault
    }

    /// - Parameters:
    ///   - message: what a person needs to know: what happened, where, what to do.
    ///   - reason: what the peer gave with it (GOAWAY), in its own word.
    package init(_ kind: Kind, _ message: String, reason: ProviderReason? = nil) {
        self.init(kind, ConnectionFault(kind.code, message, reason: reason))
    }

    package var message: String { fault.sentence }
    package var reason: ProviderReason? { fault.reason }
}

extension ConnectionEnd.Kind {
    /// Where nothing more exact is known.
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
