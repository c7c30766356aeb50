/// What shall go wrong, as rules in order. Each names when it applies and what happens then.
package struct FaultScript: Equatable, Sendable {
    /// The same seed and the same requests give the same faults.
    package var seed: UInt64 = 1
    package var rules: [FaultRule] = []
    /// Reasons that Apple does not have, by the number that a rule's answer holds.
    package var customReasons: [String] = []

    package init() {}

    static let mostRules = 1000

    /// These rules and then those of another script, with the numbers of its own reasons put right.
    func adding(_ other: FaultScript) throws(ScriptError) -> FaultScript {
        var sum = self
        guard rules.count + other.rules.count <= Self.mostRules else {
            throw ScriptError(line: nil, path: "rules", problem: "there may be \(Self.mostRules) rules at once")
        }
        for var rule in other.rules {
            if case .answer(var answer) = rule.effect, answer.reason == .custom {
                let name = other.customReasons[Int(answer.customReason)]
                if !sum.customReasons.contains(name) { sum.customReasons.append(name) }
                guard sum.customReasons.count <= 256, let place = sum.customReasons.firstIndex(of: name) else {
                    throw ScriptError(
                        line: nil, path: "rules", problem: "there may be 256 reasons that Apple does not have")
                }
                answer.customReason = UInt8(place)
                rule.effect = .answer(answer)
            }
            sum.rules.append(rule)
        }
        return sum
    }
}

package struct FaultRule: Equatable, Sendable {
    /// When a rule is looked at.
    package enum Moment: String, CaseIterable, Sendable {
        /// A client connects to the HTTP/2 service.
        case connect
        /// A request is complete, and what Apple would answer is known.
        case request
        /// A client connects to the legacy gateway.
        case binaryConnect = "binary_connect"
        /// A notification came on the legacy gateway.
        case binary
        /// A client connects to the feedback service.
        case feedback
    }

    package struct Match: Equatable, Sendable {
        var token: DeviceBook.Pattern?
        var topic: String?
        var pushType: PushType?
        /// Number of the connection, counted from 1.
        var connection: UInt32?
        /// Number of the request on its connection, counted from 1.
        var request: UInt64?
        /// Only when the connection has had this many requests before.
        var after: UInt64?
        /// What Apple would answer without the fault.
        var status: UInt16?
        var reason: Reason?
        /// Each nth of those that match all above.
        var every: UInt64?
        /// This share of those that match all above.
        var share: Double?

        package init() {}
    }

    package struct Answer: Equatable, Sendable {
        var status: UInt16
        var reason: Reason
        var customReason: UInt8 = 0
        /// Milliseconds since 1970.
        var timestamp: Int64?
        /// Seconds.
        var retryAfter: UInt32?
    }

    package struct GoAway: Equatable, Sendable {
        package enum Last: Equatable, Sendable {
            /// This many requests before the one that set the rule off.
            case back(UInt32)
            case stream(Int32)
        }
        var last = Last.back(0)
        var code: UInt32 = 0
        /// Goes out as `{"reason": …}`, as Apple does it.
        var reason: String?
        /// Closes at once instead of when the streams up to the last are answered.
        var closes = false
    }

    package enum Effect: Equatable, Sendable {
        case answer(Answer)
        case goAway(GoAway)
        /// RST_STREAM with this code.
        case reset(UInt32)
        /// Nothing more comes on this connection, not even a PING answer, but it takes everything.
        case silence
        /// Half of the answer, then the connection is closed.
        case halfFrame
        /// The connection is closed without a GOAWAY or an error packet.
        case close
        /// From now on the connection answers `ExpiredProviderToken`.
        case wedge
        /// The connection is reset as soon as it is there.
        case refuse
        /// The TLS handshake is refused with an alert.
        case refuseTLS
        /// TLS with a certificate that has expired.
        case expiredCertificate
        /// An error packet of the legacy gateway with this status.
        case packet(UInt8)
    }

    package var moment = Moment.request
    package var match = Match()
    /// How often it applies; nil: always.
    package var times: UInt64?
    /// Added to the latency of the answer, in nanoseconds: the fixed part, and up to `spread` more at random.
    package var latency: Int64 = 0
    package var spread: Int64 = 0
    /// A new stream limit, if it differs from the one in force.
    package var streams: UInt32?
    package var effect: Effect?
    /// Whether the request was processed though its answer goes astray. Nil: yes, but for REFUSED_STREAM.
    package var isProcessed: Bool?

    package init() {}
}
