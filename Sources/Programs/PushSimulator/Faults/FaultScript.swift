/// The faults to simulate, as rules in order. Each rule states when it applies and what happens then.
package struct FaultScript: Equatable, Sendable {
    /// The seed. The same seed and the same requests produce the same faults.
    package var seed: UInt64 = 1
    package var rules: [FaultRule] = []
    /// The reasons that are not Apple's. A rule's answer refers to them by index.
    package var customReasons: [String] = []

    package init() {}

    static let maxRules = 1000

    /// Returns these rules followed by those of another script, with the indices of its custom reasons adjusted.
    func adding(_ other: FaultScript) throws(ScriptError) -> FaultScript {
        var sum = self
        guard rules.count + other.rules.count <= Self.maxRules else {
            throw ScriptError(line: nil, path: "rules", problem: "the maximum of \(Self.maxRules) rules is exceeded")
        }
        for var rule in other.rules {
            if case .answer(var answer) = rule.effect, answer.reason == .custom {
                let name = other.customReasons[Int(answer.customReason)]
                if !sum.customReasons.contains(name) { sum.customReasons.append(name) }
                guard sum.customReasons.count <= 256, let index = sum.customReasons.firstIndex(of: name) else {
                    throw ScriptError(
                        line: nil, path: "rules", problem: "the maximum of 256 reasons that are not Apple's is exceeded"
                    )
                }
                answer.customReason = UInt8(index)
                rule.effect = .answer(answer)
            }
            sum.rules.append(rule)
        }
        return sum
    }
}

package struct FaultRule: Equatable, Sendable {
    /// The event at which a rule is evaluated.
    package enum Moment: String, CaseIterable, Sendable {
        /// A client connects to the HTTP/2 service.
        case connect
        /// A request is complete, and Apple's answer to it is known.
        case request
        /// A client connects to the legacy gateway.
        case binaryConnect = "binary_connect"
        /// A notification arrives on the legacy gateway.
        case binary
        /// A client connects to the feedback service.
        case feedback
    }

    package struct Match: Equatable, Sendable {
        var token: SimulatedDevices.Pattern?
        var topic: String?
        var pushType: PushType?
        /// The number of the connection, counted from 1.
        var connection: UInt32?
        /// The number of the request on its connection, counted from 1.
        var request: UInt64?
        /// The rule applies only after this many requests on the connection.
        var after: UInt64?
        /// The status that Apple would answer without the fault.
        var status: UInt16?
        var reason: Reason?
        /// Applies the rule to every nth event that meets the criteria above.
        var every: UInt64?
        /// Applies the rule to this share of the events that meet the criteria above.
        var share: Double?

        package init() {}
    }

    package struct Answer: Equatable, Sendable {
        var status: UInt16
        var reason: Reason
        var customReason: UInt8 = 0
        /// The timestamp in milliseconds since 1970.
        var timestamp: Int64?
        /// The value of `retry-after` in seconds.
        var retryAfter: UInt32?
    }

    package struct GoAway: Equatable, Sendable {
        package enum Last: Equatable, Sendable {
            /// The last stream is this many requests before the one that triggered the rule.
            case back(UInt32)
            case stream(Int32)
        }
        var last = Last.back(0)
        var code: UInt32 = 0
        /// The reason, which is sent as `{"reason": …}`, as Apple does.
        var reason: String?
        /// Whether the connection closes at once, instead of after the answers to the streams up to the last one.
        var closes = false
    }

    package enum Effect: Equatable, Sendable {
        case answer(Answer)
        case goAway(GoAway)
        /// Sends RST_STREAM with this code.
        case reset(UInt32)
        /// The connection continues to read but sends nothing more, not even PING acknowledgments.
        case silence
        /// Sends half of the answer and closes the connection.
        case halfFrame
        /// Closes the connection without a GOAWAY frame or an error packet.
        case close
        /// The connection answers `ExpiredProviderToken` from now on.
        case wedge
        /// Resets the connection as soon as it is accepted.
        case refuse
        /// Rejects the TLS handshake with an alert.
        case refuseTLS
        /// Uses an expired certificate for TLS.
        case expiredCertificate
        /// Sends an error packet of the legacy gateway with this status.
        case packet(UInt8)
    }

    package var moment = Moment.request
    package var match = Match()
    /// The number of times that the rule applies. Nil: always.
    package var times: UInt64?
    /// The fixed latency of the answer in nanoseconds; a random part of at most `spread` is added.
    package var latency: Int64 = 0
    package var spread: Int64 = 0
    /// The new stream limit. It is announced if it differs from the current one.
    package var streams: UInt32?
    package var effect: Effect?
    /// Whether the request was processed although its answer is lost. Nil: yes, except for REFUSED_STREAM.
    package var isProcessed: Bool?

    package init() {}
}
