extension FCMReaction {
    /// Returns what a rule of a script does with a message.
    ///
    /// - Parameter custom: The reasons that are not Apple's, by their numbers.
    static func fault(_ effect: FaultRule.Effect, isProcessed: Bool?, custom: [String]) -> FCMReaction {
        switch effect {
        case .answer(let answer):
            let word = answer.reason == .custom ? custom[Int(answer.customReason)] : ""
            return refusal(status: Int(answer.status), word: word, retryAfter: answer.retryAfter.map(String.init))
        case .goAway: return .takenLast
        case .reset(let code): return .reset(code, isTaken: isProcessed ?? (code != 7))
        case .close: return .cut
        default: return .silence
        }
    }

    /// The words of rules for answers that are not in the form of Google.
    private static let bodies: [String: [UInt8]] = [
        "GARBAGE": Array(#"{"error":{"code":404,"details":[{"@type":"google.firebase.fcm.v1.FcmError","errorCo"#.utf8),
        "HUGE": Array(#"{"error":{"status":"UNREGISTERED"},"x":""#.utf8) + [UInt8](repeating: 0x78, count: 1 << 20)
            + Array(#""}"#.utf8),
    ]

    private static func refusal(status: Int, word: String, retryAfter: String?) -> FCMReaction {
        if word == "HTML" { return .html(status: status) }
        if let body = bodies[word] { return .raw(status: status, body: body) }
        let known = byName(word)
        if case .refused(status, let state, let code, _, let details) = known {
            return .refused(status: status, word: state, code: code, retryAfter: retryAfter, details: details)
        }
        switch word {
        case "PROJECT_QUOTA_EXCEEDED":
            let type = "type.googleapis.com/google.rpc.QuotaFailure"
            let subject = #"{"@type":"\#(type)","violations":[{"subject":"project:1"}]}"#
            return .refused(
                status: status, word: "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", retryAfter: retryAfter,
                details: [subject])
        case "ACCESS_TOKEN_EXPIRED":
            return .refused(
                status: status, word: "UNAUTHENTICATED", retryAfter: retryAfter, details: [FCMText.errorInfo(word)])
        default: return .refused(status: status, word: word, retryAfter: retryAfter)
        }
    }

    /// Checks that the rules of a script are possible at this service.
    static func check(_ script: FaultScript) throws(ScriptError) {
        for (index, rule) in script.rules.enumerated() {
            if let problem = problem(of: rule) {
                throw ScriptError(line: nil, path: "rules[\(index)]", problem: problem)
            }
        }
    }

    private static func problem(of rule: FaultRule) -> String? {
        let match = rule.match
        if match.token != nil || match.topic != nil || match.pushType != nil || match.status != nil
            || match.reason != nil
        {
            return "this service matches connection, request, after, every and share"
        }
        if rule.moment != .request || rule.streams != nil { return "this service has rules for requests alone" }
        switch rule.effect {
        case .goAway(let goAway) where goAway.last != .back(0) || goAway.closes:
            return "a GOAWAY of this service is sent behind the answer"
        case .answer(let answer) where answer.reason != .none && answer.reason != .custom:
            return "this is a reason of Apple; give one of Google, such as \"UNAVAILABLE\""
        case .halfFrame, .wedge: return "this service has the effects answer, goaway, reset, silence and close"
        default: return nil
        }
    }
}
