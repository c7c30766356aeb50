import PushModel

/// What an operator may see of gateways and tell them. Given to the control server; called from any task.
protocol GatewayControl: Sendable {
    /// All of them, in the order of their app ids.
    func gateways() async -> [GatewayAnswer]
    /// Nil if there is no such app.
    func gateway(_ app: AppID) async -> GatewayAnswer?
    /// Sets how many connections there may be, until a reload or another call changes it, and says what is in force
    /// then; connections come and go in their own time. Nil if there is no such app.
    func scale(_ app: AppID, to connections: ClosedRange<Int>) async throws -> GatewayAnswer?
}

/// One gateway for people and tools. What is not known is left out of the JSON.
struct GatewayAnswer: Codable, Sendable, Equatable {
    struct Scale: Codable, Sendable, Equatable {
        var min: Int
        var max: Int

        init(_ range: ClosedRange<Int>) {
            min = range.lowerBound
            max = range.upperBound
        }
    }

    var app: String
    var environment: String
    /// `up` if a connection takes deliveries; else `connecting`, `draining`, `stopped`, or what keeps it.
    var state: String
    /// How many connections it may have.
    var scale: Scale
    /// Deliveries it has and no connection has yet.
    var queue: Int
    /// How many more it takes now.
    var credit: Int
    var connections: [Connection]
    /// Why no connection is open, where that is known.
    var fault: Fault?

    /// Mirrors `PushModel.ConnectionFault`.
    struct Fault: Codable, Sendable, Equatable {
        /// From a closed set.
        var code: String
        var message: String

        init(_ fault: ConnectionFault) {
            code = fault.code.rawValue
            message = fault.sentence
        }
    }

    /// Mirrors `PushModel.ConnectionStatus`.
    struct Connection: Codable, Sendable, Equatable {
        var id: UInt32
        var state: String
        var address: String?
        var ageMilliseconds: Int64
        var streamLimit: Int?
        var inFlight: Int
        var waiting: Int
        var answered: UInt64
        var oldestUnansweredMilliseconds: Double?
        var lastPingMilliseconds: Double?
        var lastGoAway: String?

        enum CodingKeys: String, CodingKey {
            case id, state, address, waiting, answered
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
    init(_ status: ConnectionStatus) {
        self.init(
            id: status.id.number, state: status.state.rawValue, address: status.address,
            ageMilliseconds: status.age.wholeMilliseconds, streamLimit: status.streamLimit, inFlight: status.inFlight,
            waiting: status.waiting, answered: status.answered,
            oldestUnansweredMilliseconds: status.oldestUnanswered.map(Self.milliseconds),
            lastPingMilliseconds: status.lastPing.map(Self.milliseconds), lastGoAway: status.goAwayReason)
    }

    /// To the microsecond.
    private static func milliseconds(_ duration: Duration) -> Double {
        let parts = duration.components
        return Double(parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000) / 1000
    }
}

struct GatewayList: Codable, Sendable, Equatable {
    var gateways: [GatewayAnswer]
}
