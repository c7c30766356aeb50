/// Decides when a listener takes no more connections, by how many there are: closed at `most`, open again when a tenth
/// of them has gone, so that it does not swing with each connection.
package struct ConnectionGate: Hashable, Sendable {
    package let most: Int
    package let reopensAt: Int
    package private(set) var open = 0
    package private(set) var isClosed = false
    /// How often it was closed.
    package private(set) var closures: UInt64 = 0

    /// - Parameter most: connections at which it closes, at least one.
    package init(most: Int) {
        self.most = max(1, most)
        reopensAt = self.most - max(1, self.most / 10)
    }

    /// A connection was accepted. True when the gate is to be closed now.
    package mutating func opened() -> Bool {
        open += 1
        guard !isClosed, open >= most else { return false }
        isClosed = true
        closures += 1
        return true
    }

    /// A connection has ended. True when the gate is to be opened now.
    package mutating func ended() -> Bool {
        open = max(0, open - 1)
        guard isClosed, open <= reopensAt else { return false }
        isClosed = false
        return true
    }
}
