/// What an XPUB hears: the first of its subscribers asks for a prefix, or the last of them no longer does, because it
/// said so or because its connection ended. What two of them ask for is told once.
///
/// libzmq keeps these apart from what a hostile peer sends in the form of a message, which comes through as well and is
/// none of this. But it lets such a message begin and puts changes of other peers between its frames; so an XPUB reads
/// frame by frame.
package enum ZMQSubscription: Hashable, Sendable {
    case added([UInt8])
    /// Perhaps one that nobody had asked for.
    case removed([UInt8])
}

extension ZMQMessage {
    /// Nil for what is no change of a subscription.
    package var subscription: ZMQSubscription? {
        guard count == 1 else { return nil }
        return unsafe withBytes(ofFrame: 0) { bytes in
            switch unsafe bytes.first {
            case 1: unsafe .added([UInt8](bytes.dropFirst()))
            case 0: unsafe .removed([UInt8](bytes.dropFirst()))
            default: nil
            }
        }
    }
}
