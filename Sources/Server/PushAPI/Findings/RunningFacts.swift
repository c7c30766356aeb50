package import PushModel

/// What a running Carillon knows about itself, from which ``RunningDiagnosis`` draws conclusions.
package struct RunningFacts: Sendable {
    /// Of all nodes of a cluster, or of one.
    package var statistics: StatsAnswer
    package var gateways: [GatewayAnswer] = []
    package var credentials: [CredentialAnswer] = []
    /// The settings of the file that are not in force.
    package var differences: [ConfigurationAnswer.Change] = []
    package var file: String?
    /// Those of the statistics' obstacles that do not prevent sending.
    package var warnings: Set<String> = []
    /// The apps whose circuit breaker is open on this node.
    package var openBreakers: Set<String> = []
    /// The push services of apps with several that this node sends nothing to for now.
    package var failing: [String: [FailingOrigin]] = [:]
    /// The number of Live Activities of each app for which messages wait on this node, and of which the registry has no
    /// address.
    package var unaddressedActivities: [String: Int] = [:]
    package var webhooks: [WebhookAnswer] = []
    /// Why webhooks of this node could not be used as they were configured last, by name.
    package var webhookFaults: [String: String] = [:]
    package var losses = Losses()
    package var lastMinute = StatsHistory.Minute()

    /// What was lost on this node since its start.
    package struct Losses: Sendable {
        /// Events that the ledger could not write.
        package var events: UInt64 = 0
        /// Events that subscribers did not read.
        package var published: UInt64 = 0
        package var acks: UInt64 = 0

        package init() {}
    }

    package init(_ statistics: StatsAnswer) {
        self.statistics = statistics
    }
}

/// The source of these facts. It may be called from any task.
package protocol FindingSource: Sendable {
    /// Returns the facts about all nodes together; what only a node knows about itself is that of the node that is asked.
    func facts() async throws -> RunningFacts
}
