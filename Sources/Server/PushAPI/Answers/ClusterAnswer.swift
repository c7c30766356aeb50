package import PushTime

/// The source of the state of the cluster. It may be called from any task.
package protocol ClusterSource: Sendable {
    /// Returns the cluster as this node sees it; nil for a single node.
    func cluster() async -> ClusterView?
}

/// The answer of `GET /v1/cluster`. A single node is not an error, so that clients need not know what they ask.
package struct ClusterAnswer: JSONAnswer, Equatable {
    package var cluster: ClusterView?

    package static var about: [String: String] { ["cluster": "Left out by a single node, which has no cluster."] }

    package init(cluster: ClusterView?) {
        self.cluster = cluster
    }
}

/// The cluster as one node sees it. Times of leases and partitions are those of the database. Unknown values are left
/// out of the JSON.
package struct ClusterView: JSONAnswer, Equatable {
    package var at: WallTime
    package var node: String
    package var isMember: Bool
    package var isDraining: Bool
    package var obstacle: String?
    package var joinedAt: WallTime?
    package var renewalAgeMilliseconds: Int64?
    package var sendsForMilliseconds: Int64
    package var summary: Summary
    package var nodes: [Node] = []
    package var partitions: [Partition] = []
    package var database: Database
    package var events: [Event] = []

    package enum CodingKeys: String, CodingKey {
        case node, obstacle, summary, nodes, partitions, database, events
        case at = "taken_at"
        case isMember = "member"
        case isDraining = "draining"
        case joinedAt = "joined_at"
        case renewalAgeMilliseconds = "renewal_age_ms"
        case sendsForMilliseconds = "sends_for_ms"
    }

    package static var about: [String: String] {
        [
            "node": "The node that answers.",
            "member": "Whether the node has joined, and has neither left nor been declared dead.",
            "obstacle": "Why the node sends nothing; left out if it sends.",
            "joined_at": "When the node joined last, by its own clock.",
            "renewal_age_ms": "The time since the last renewal of the lease that succeeded was sent.",
            "sends_for_ms": "The time for which the node may still send without another renewal.",
            "nodes": "All nodes of the table, sorted by name. Those that left or died stay in it for a day.",
            "partitions": "All partitions, sorted by number; empty until the database has answered.",
            "events": "The last 100 changes that this node saw since its start, the oldest first.",
        ]
    }

    package init(at: WallTime, node: String) {
        (self.at, self.node) = (at, node)
        (isMember, isDraining, sendsForMilliseconds) = (false, false, 0)
        (summary, database) = (Summary(), Database())
    }

    package struct Summary: JSONAnswer, Equatable {
        package var partitions = 0
        package var unowned = 0
        package var takeovers: UInt64 = 0
        package var fenced: UInt64 = 0

        package init() {}

        package static var about: [String: String] {
            [
                "partitions": "The number of partitions; 0 until the database has answered.",
                "unowned": "The number of partitions that no live node owns. They are taken in a moment.",
                "takeovers":
                    "The number of partitions that this node has taken since its start, because they had no live owner.",
                "fenced": "The number of partitions that another node has taken from this one while it held them.",
            ]
        }
    }

    package struct Node: JSONAnswer, Equatable {
        package enum State: String, Codable, Sendable, SchemaChoice {
            case live, draining, left, dead
        }

        package var node: String
        package var state: State
        package var address: String
        package var partitions: Int
        package var leaseMilliseconds: Int64
        package var remainingMilliseconds: Int64
        package var version: String
        package var startedAt: WallTime
        package var router: String?
        package var http: String?

        package enum CodingKeys: String, CodingKey {
            case node, state, address, partitions, version, router, http
            case leaseMilliseconds = "lease_ms"
            case remainingMilliseconds = "remaining_ms"
            case startedAt = "started_at"
        }

        package static var about: [String: String] {
            [
                "state":
                    "live; draining, while the node hands its partitions over; left, by itself; dead, if its lease ended "
                    + "and another node said so.",
                "address": "The address for other nodes.", "partitions": "The number of partitions that it owns.",
                "lease_ms": "The length of the lease.",
                "remaining_ms": "The time to the end of the lease when this node read the table; negative after it.",
                "started_at": "When the node joined, by the clock of the database.",
                "router": "The address of intake.router for producers; left out while it is not known.",
                "http": "The address of http.listen; left out while it is not known.",
            ]
        }

        package init(
            _ node: String, state: State, address: String, partitions: Int, lease: Duration, remaining: Duration,
            version: String, startedAt: WallTime
        ) {
            (self.node, self.state, self.address, self.partitions) = (node, state, address, partitions)
            (leaseMilliseconds, remainingMilliseconds) = (lease.wholeMilliseconds, remaining.wholeMilliseconds)
            (self.version, self.startedAt) = (version, startedAt)
        }
    }

    package struct Partition: JSONAnswer, Equatable {
        package enum State: String, Codable, Sendable, SchemaChoice {
            /// No live node owns it.
            case unowned
            /// Another node owns it.
            case remote
            case taking, loading, serving, draining, handing, stopped
        }

        package var part: Int
        package var owner: String?
        package var epoch: Int64
        package var since: WallTime?
        package var state: State

        package enum CodingKeys: String, CodingKey {
            case part, owner, epoch, state
            case since = "since_at"
        }

        package static var about: [String: String] {
            [
                "owner": "The node that the table names; left out before the first one.",
                "epoch": "The number of changes of owner.", "since_at": "When it got this owner.",
                "state":
                    "On this node: taking, loading, serving, draining (deliveries end), handing (to another node) or "
                    + "stopped (the lease has ended). Otherwise remote, or unowned if no live node owns it.",
            ]
        }

        package init(_ part: Int, owner: String?, epoch: Int64, since: WallTime?, state: State) {
            (self.part, self.owner, self.epoch, self.since, self.state) = (part, owner, epoch, since, state)
        }
    }

    package struct Database: JSONAnswer, Equatable {
        package var server: String?
        package var version: String?
        package var system: String?
        package var timeline: UInt32?
        package var standbys: String?
        package var clockOffsetMilliseconds: Int64?
        package var roundTripMilliseconds: Double?
        package var fault: String?

        package enum CodingKeys: String, CodingKey {
            case server, version, system, timeline, standbys, fault
            case clockOffsetMilliseconds = "clock_offset_ms"
            case roundTripMilliseconds = "round_trip_ms"
        }

        package static var about: [String: String] {
            [
                "server": "The server that this node is connected to; left out while it is not.",
                "system": "The system identifier of the database, a number of 64 bits.",
                "timeline": "The timeline; it grows when a standby is promoted.",
                "standbys": "The setting synchronous_standby_names; empty if commits wait for no standby.",
                "clock_offset_ms": "The time of the database minus the time of this node.",
                "round_trip_ms": "The time of an answer when the node connected.",
                "fault": "Why there is no connection.",
            ]
        }

        package init() {}
    }

    package struct Event: JSONAnswer, Equatable {
        package enum Kind: String, Codable, Sendable, SchemaChoice {
            case joined, left, lost, dead, takeover, handover, fenced, stopped, resumed, halted
            case nameInUse = "name_in_use"
            case newPrimary = "new_primary"
            case clockStepped = "clock_stepped"
        }

        package var at: WallTime
        package var event: Kind
        package var node: String?
        package var parts: [Int]?
        package var text: String

        package enum CodingKeys: String, CodingKey {
            case event, node, parts, text
            case at = "happened_at"
        }

        package static var about: [String: String] {
            [
                "node": "The other node that it concerns.", "parts": "The partitions that it concerns.",
                "text": "What happened, for people.",
            ]
        }

        package init(_ event: Kind, at: WallTime, node: String? = nil, parts: [Int]? = nil, text: String) {
            (self.event, self.at, self.node, self.parts, self.text) = (event, at, node, parts, text)
        }
    }
}
