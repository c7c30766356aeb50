package import PushTime

/// What the nodes of a cluster share about their apps, as one node has read it.
package struct SharedApps: Sendable, Equatable {
    /// The apps that operators have paused, and since when.
    package var paused: [AppID: WallTime]
    package var brakes: [AppID: SharedBrake]
    package var scales: [SharedScale]
    /// The webhooks, by name.
    package var webhooks: [String: SharedWebhook] = [:]
    /// The reports of other nodes that have changed since the last reading.
    package var reports: [ReceivedReport]
    /// When the reading was sent to the database. Changes that this node has made since then may be missing.
    package var readAt: MonotonicTime

    package init(
        paused: [AppID: WallTime] = [:], brakes: [AppID: SharedBrake] = [:], scales: [SharedScale] = [],
        reports: [ReceivedReport] = [], readAt: MonotonicTime = MonotonicTime(nanoseconds: 0)
    ) {
        self.readAt = readAt
        self.paused = paused
        self.brakes = brakes
        self.scales = scales
        self.reports = reports
    }
}

/// What the nodes share about a webhook.
package struct SharedWebhook: Sendable, Equatable {
    /// Ascends with each change of the standing, and with each move of a position by an operator.
    package var changes: Int64
    package var standing: String

    package init(changes: Int64, standing: String) {
        (self.changes, self.standing) = (changes, standing)
    }
}

/// The number of connections that an operator has set for an app.
package struct SharedScale: Sendable, Equatable {
    package let app: AppID
    /// The node to which it applies; nil if all nodes divide it.
    package let node: NodeID?
    package let connections: ClosedRange<Int>
    /// The range in the configuration that it replaced. It does not apply to a node with another one.
    package let configured: ClosedRange<Int>

    package init(_ app: AppID, node: NodeID?, connections: ClosedRange<Int>, configured: ClosedRange<Int>) {
        self.app = app
        self.node = node
        self.connections = connections
        self.configured = configured
    }
}
