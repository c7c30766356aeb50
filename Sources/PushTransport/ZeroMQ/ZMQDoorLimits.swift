/// What the connections of sockets may take.
package struct ZMQDoorLimits: Hashable, Sendable {
    /// Connections of all sockets together.
    package var connections: Int
    /// Bytes that one connection may bring without a message of it coming out of its socket: more than the longest
    /// message.
    package var hoard: UInt64
    /// The same for all connections of a socket.
    package var hoardTogether: UInt64
    /// As many bytes are nothing to speak of.
    package var hoardAtLeast: UInt64 = 1 << 20
    /// Bytes that the process may grow by while a connection has more than that; then such connections are ended.
    package var growth = 192 << 20
    /// Connections are looked at so often.
    package var interval = Duration.milliseconds(250)
    /// A peer that has gone leaves messages behind, which are still read. After this time its connection is stuck.
    package var patience = Duration.seconds(30)

    package init(connections: Int, hoard: UInt64 = 64 << 20, hoardTogether: UInt64 = 512 << 20) {
        self.connections = connections
        self.hoard = hoard
        self.hoardTogether = hoardTogether
    }

    /// As many stuck connections (see `WatchedConnections`) as a socket may have.
    package var stuck: Int { max(4, connections / 16) }
}
