/// What an XPUB hears: the first of its subscribers asks for a prefix, or the last of them no longer does, because it
/// said so or because its connection ended. What two of them ask for is told once.
///
/// What a hostile peer sends in the form of a message of many frames comes through as well, and libzmq takes each of
/// them that looks like a change for one, in the midst of the message; so an XPUB reads frame by frame, and none is lost
/// behind the frames that are too many.
package enum ZMQSubscription: Hashable, Sendable {
    case added([UInt8])
    /// A connection has ended, and nobody else asks for it.
    case removed([UInt8])
    /// A peer said that it no longer asks for it. Nobody else does, if that peer is honest: libzmq 4.3 also tells of it,
    /// and keeps what others asked for, when a peer cancels what it never asked for, which no socket of libzmq does.
    case cancelled([UInt8])
}

extension ZMQMessage {
    /// Nil for what is no change of a subscription.
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
