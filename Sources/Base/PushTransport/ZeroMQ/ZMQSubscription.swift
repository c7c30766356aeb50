/// A change of the subscriptions of an XPUB: the first of its subscribers asks for a prefix, or the last of them no
/// longer does, because it unsubscribed or because its connection ended. A prefix that two subscribers ask for is
/// reported once.
///
/// Messages with many frames from a hostile peer are delivered as well, and libzmq processes each frame that looks like
/// a change, even in the middle of a message. So an XPUB is read frame by frame, and no change is lost among excess
/// frames.
package enum ZMQSubscription: Hashable, Sendable {
    case added([UInt8])
    /// A connection has ended, and no other subscriber has this prefix.
    case removed([UInt8])
    /// A peer has unsubscribed. If that peer is honest, no other subscriber has this prefix. libzmq 4.3 also reports
    /// it, and keeps the subscriptions of others, if a peer cancels a subscription that it never had, which no socket
    /// of libzmq does.
    case cancelled([UInt8])
}

extension ZMQMessage {
    /// The subscription change in the message, or nil if it contains none.
    package var subscription: ZMQSubscription? {
        guard count == 1 else { return nil }
        return unsafe withBytes(ofFrame: 0) { bytes in
            switch unsafe bytes.first {
            case 1: unsafe .added([UInt8](bytes.dropFirst()))
            case 0: unsafe isFromPeer ? .cancelled([UInt8](bytes.dropFirst())) : .removed([UInt8](bytes.dropFirst()))
            default: nil
            }
        }
    }
}
