/// The limits for the connections of sockets.
package struct ZMQConnectionLimits: Hashable, Sendable {
    /// The maximum number of connections of all sockets together.
    package var connections: Int
    /// The number of bytes that a connection may send without a message coming out of its socket. It must be larger
    /// than the longest message.
    package var maxHeld: Int
    /// The same limit for all connections of a socket together.
    package var maxHeldTogether: Int
    /// The number of bytes by which connections may make the process grow. Above it, they may hold no more than
    /// ``harmless``.
    package var growth = 192 << 20
    /// The time between two checks of the connections.
    package var interval = Duration.milliseconds(250)
    /// The time after which the connection of a disconnected peer is considered stuck. Until then, its remaining
    /// messages are read.
    package var patience = Duration.seconds(30)

    package init(connections: Int, maxHeld: Int = 64 << 20, maxHeldTogether: Int = 512 << 20) {
        self.connections = connections
        self.maxHeld = maxHeld
        self.maxHeldTogether = maxHeldTogether
    }

    /// The number of bytes that connections may hold in any case: split into frames of any size, they take at most
    /// ``growth``.
    var harmless: Int { growth / MemoryGrowthDetector.memoryPerByte }

    /// The maximum number of stuck connections of a socket (see ``WatchedConnections``).
    package var stuck: Int { max(4, connections / 16) }
}
