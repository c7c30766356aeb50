/// What the connections of sockets may take.
package struct ZMQDoorLimits: Hashable, Sendable {
    /// Connections of all sockets together.
    package var connections: Int
    /// Bytes that one connection may bring without a message of it coming out of its socket: more than the longest
    /// message.
    package var hoard: Int
    /// The same for all connections of a socket.
    package var hoardTogether: Int
    /// Bytes that the process may grow by on account of what connections hold; then they may hold no more than is
    /// `harmless`.
    package var growth = 192 << 20
    /// The time between two looks at connections.
    package var interval = Duration.milliseconds(250)
    /// A peer that has gone leaves messages behind, which are still read. After this time its connection is stuck.
    package var patience = Duration.seconds(30)

    package init(connections: Int, hoard: Int = 64 << 20, hoardTogether: Int = 512 << 20) {
        self.connections = connections
        self.hoard = hoard
        self.hoardTogether = hoardTogether
    }

    /// Bytes that connections may hold in any case: however they are cut into frames, they take no more than `growth`.
    var harmless: Int { growth / CalmMemory.swelling }

    /// As many stuck connections (see `WatchedConnections`) as a socket may have.
    package var stuck: Int { max(4, connections / 16) }
}
