/// Decides which connections of a socket have an owner no more: the peer is gone, and libzmq does not notice.
///
/// A ROUTER that lets a new connection take the routing id of an old one ends the old one's queue, but not its
/// connection. If the old peer sends anything after that, libzmq (4.3.4 and 4.3.5, no issue is open) has nowhere to put
/// it, stops reading, and so never learns that the peer has gone: the descriptor stays open until the socket unbinds.
/// Whoever rolls out producers with fixed routing ids loses one now and then; whoever wants to, as many as there are.
struct StuckConnections: Hashable, Sendable {
    /// Descriptors of the connections that libzmq has accepted and not yet told the end of.
    private(set) var open: Set<CInt> = []
    /// Those whose peer was gone at the last look.
    private var gone: Set<CInt> = []

    /// False if it is known already.
    mutating func opened(_ descriptor: CInt) -> Bool {
        gone.remove(descriptor)
        return open.insert(descriptor).inserted
    }

    /// False if it is not known.
    mutating func ended(_ descriptor: CInt) -> Bool {
        gone.remove(descriptor)
        return open.remove(descriptor) != nil
    }

    /// All of them have ended. Returns how many there were.
    mutating func endedAll() -> Int {
        defer { self = StuckConnections() }
        return open.count
    }

    /// How many connections have stayed open since the last look although their peer was gone even then.
    ///
    /// - Parameter gone: the open ones whose peer is gone now.
    mutating func look(gone now: Set<CInt>) -> Int {
        let stuck = gone.intersection(now).count
        gone = now.intersection(open)
        return stuck
    }
}
