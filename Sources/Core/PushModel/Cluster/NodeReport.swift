/// What a node of a cluster tells the others about its apps, about once a second while there is something to tell.
package struct NodeReport: Sendable, Equatable {
    package var brakes: [BrakeCounts]
    package var troubles: [GatewayTrouble]

    package init(brakes: [BrakeCounts] = [], troubles: [GatewayTrouble] = []) {
        self.brakes = brakes
        self.troubles = troubles
    }
}

/// A reason why a node does not send for an app: other nodes will probably find the same.
package struct GatewayTrouble: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        /// The push service fails, or cannot be reached.
        case failing = 1
        /// The push service refuses the credential.
        case refused = 2
    }

    package let app: AppID
    package let kind: Kind
    /// A hash of the credential and of the endpoint. Trouble with other ones says nothing.
    package let connection: UInt64

    package init(_ app: AppID, kind: Kind, connection: UInt64) {
        self.app = app
        self.kind = kind
        self.connection = connection
    }
}

/// A report as another node has read it.
package struct ReceivedReport: Sendable, Equatable {
    package let node: String
    /// A random number of the process.
    package let run: Int64
    /// Ascends with each report of the process.
    package let number: Int64
    package let report: NodeReport

    package init(_ node: String, run: Int64, number: Int64, report: NodeReport) {
        self.node = node
        self.run = run
        self.number = number
        self.report = report
    }
}
