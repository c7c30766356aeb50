package import PushModel
package import PushTime

/// The operations on gateways that the control server offers to operators. They may be called from any task.
package protocol GatewayControl: Sendable {
    /// Returns all gateways of a node, sorted by app id; nil stands for all nodes together.
    ///
    /// Other nodes that do not answer are named in the gateways.
    ///
    /// - Throws: `Problem` if there is no such node, or if it does not answer.
    func gateways(of node: NodeID?) async throws -> [GatewayAnswer]
    /// Returns the gateway of the app on a node, or on all nodes together, or nil if there is no such app.
    func gateway(_ app: AppID, on node: NodeID?) async throws -> GatewayAnswer?
    /// Sets the range of the number of connections, until a reload or another call changes it.
    ///
    /// It does not wait until connections open or close. In a cluster, a range without a node is that of all nodes
    /// together, which divide it.
    ///
    /// - Returns: the gateway of one node with its new range, or nil if there is no such app.
    func scale(_ app: AppID, to connections: ClosedRange<Int>, on node: NodeID?) async throws -> GatewayAnswer?
    /// Stops sending for the app, or continues. It is in force, also after a restart, when this returns.
    ///
    /// - Returns: the gateway of this node, or nil if there is no such app.
    func setPaused(_ isPaused: Bool, app: AppID) async throws -> GatewayAnswer?
}

extension GatewayControl {
    package func gateway(_ app: AppID) async throws -> GatewayAnswer? { try await gateway(app, on: nil) }
}

/// The state of a gateway. Unknown values are left out of the JSON.
package struct GatewayAnswer: JSONAnswer, Equatable {
    package struct Scale: Codable, Sendable, Equatable {
        package var min: Int
        package var max: Int

        package init(_ range: ClosedRange<Int>) {
            min = range.lowerBound
            max = range.upperBound
        }
    }

    package var app: String
    /// Left out for push services without environments.
    package var environment: String?
    /// `up` if a connection accepts deliveries; otherwise `connecting`, `draining`, `stopped`, or the obstacle. It begins
    /// with `paused by an operator` if it is.
    package var state: String
    /// The minimum and maximum number of connections.
    package var scale: Scale
    /// The number of deliveries that are not assigned to a connection.
    package var queue: Int
    /// The number of further deliveries that the gateway accepts now.
    package var credit: Int
    package var connections: [Connection]
    /// The reason why no connection is open, if it is known.
    package var fault: Fault?
    /// When an operator paused the app; left out if it is not paused.
    package var pausedAt: WallTime?
    /// The node of the gateway, and the number of connections of all live nodes together. A single node leaves them out,
    /// and so does an answer about all nodes.
    package var node: String?
    package var clusterScale: Scale?
    /// The nodes of the cluster whose numbers are added up, and those that did not answer. A single node, and an answer
    /// about one node, leave it out.
    package var nodes: [Node]?

    package enum CodingKeys: String, CodingKey {
        case app, environment, state, scale, queue, credit, connections, fault, node, nodes
        case pausedAt = "paused_at"
        case clusterScale = "cluster_scale"
    }

    package init(
        app: String,
        environment: String?,
        state: String,
        scale: Scale,
        queue: Int,
        credit: Int,
        connections: [Connection],
        fault: Fault? = nil,
        pausedAt: WallTime? = nil
    ) {
        self.app = app
        self.environment = environment
        self.state = state
        self.scale = scale
        self.queue = queue
        self.credit = credit
        self.connections = connections
        self.fault = fault
        self.pausedAt = pausedAt
    }

    /// The part of a node in the gateway of all nodes.
    package struct Node: Codable, Sendable, Equatable {
        package var node: String
        /// Why its numbers and connections are missing; left out if they are not.
        package var fault: String?
        package var state: String?
        package var scale: Scale?
        package var queue: Int?
        package var credit: Int?

        package init(_ node: String) {
            self.node = node
        }
    }

    /// Mirrors `PushModel.ConnectionFault`.
    package struct Fault: Codable, Sendable, Equatable {
        /// The code of the fault, one of a fixed set.
        package var code: String
        package var message: String
        package var advice: String?

        package init(_ fault: ConnectionFault) {
            code = fault.code.rawValue
            advice = fault.code.advice
            message = fault.sentence
        }
    }

    /// Mirrors `PushModel.ConnectionStatus`.
    package struct Connection: Codable, Sendable, Equatable {
        package var id: UInt32
        package var state: String
        package var address: String?
        package var ageMilliseconds: Int64
        package var streamLimit: Int?
        package var inFlight: Int
        package var waiting: Int
        package var answered: UInt64
        package var oldestUnansweredMilliseconds: Double?
        package var lastPingMilliseconds: Double?
        package var lastGoAway: String?
        /// The node of the connection, whose number it is; a single node leaves it out.
        package var node: String?

        package init(
            id: UInt32,
            state: String,
            address: String? = nil,
            ageMilliseconds: Int64,
            streamLimit: Int? = nil,
            inFlight: Int,
            waiting: Int,
            answered: UInt64,
            oldestUnansweredMilliseconds: Double? = nil,
            lastPingMilliseconds: Double? = nil,
            lastGoAway: String? = nil
        ) {
            self.id = id
            self.state = state
            self.address = address
            self.ageMilliseconds = ageMilliseconds
            self.streamLimit = streamLimit
            self.inFlight = inFlight
            self.waiting = waiting
            self.answered = answered
            self.oldestUnansweredMilliseconds = oldestUnansweredMilliseconds
            self.lastPingMilliseconds = lastPingMilliseconds
            self.lastGoAway = lastGoAway
        }

        package enum CodingKeys: String, CodingKey {
            case id, state, address, waiting, answered, node
            case ageMilliseconds = "age_ms"
            case streamLimit = "stream_limit"
            case inFlight = "in_flight"
            case oldestUnansweredMilliseconds = "oldest_unanswered_ms"
            case lastPingMilliseconds = "last_ping_ms"
            case lastGoAway = "last_goaway"
        }
    }
}

extension GatewayAnswer.Connection {
    package init(_ status: ConnectionStatus) {
        self.init(
            id: status.id.number, state: status.state.rawValue, address: status.address,
            ageMilliseconds: status.age.wholeMilliseconds, streamLimit: status.streamLimit, inFlight: status.inFlight,
            waiting: status.waiting, answered: status.answered,
            oldestUnansweredMilliseconds: status.oldestUnanswered.map(Self.milliseconds),
            lastPingMilliseconds: status.lastPing.map(Self.milliseconds), lastGoAway: status.goAwayReason)
    }

    /// Returns the duration in milliseconds, rounded down to the microsecond.
    private static func milliseconds(_ duration: Duration) -> Double {
        let parts = duration.components
        return Double(parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000) / 1000
    }
}

package struct GatewayList: JSONAnswer, Equatable {
    package var gateways: [GatewayAnswer]
    package var next: PageCursor

    package init(gateways: [GatewayAnswer], next: PageCursor = .end) {
        self.gateways = gateways
        self.next = next
    }
}
