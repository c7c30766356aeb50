extension WebPushMachine {
    /// Checks that the rules of a script are possible at this service. What it does not have is an error, so that no rule
    /// is without effect unnoticed.
    static func check(_ script: FaultScript) throws(ScriptError) {
        for (index, rule) in script.rules.enumerated() {
            if let problem = problem(of: rule) {
                throw ScriptError(line: nil, path: "rules[\(index)]", problem: problem)
            }
        }
    }

    private static func problem(of rule: FaultRule) -> String? {
        if rule.match.pushType != nil || rule.match.reason != nil {
            return "push_type and reason are not matched at this service"
        }
        switch (rule.moment, rule.effect) {
        case (.binaryConnect, _), (.binary, _), (.feedback, _):
            return "this service has no \"\(rule.moment.rawValue)\"; use \"request\" or \"connect\""
        case (.connect, _) where rule.latency > 0 || rule.spread > 0:
            return "only a \"request\" has a latency at this service"
        case (_, .halfFrame), (_, .wedge), (_, .refuseTLS), (_, .expiredCertificate), (_, .packet):
            return "this service has the effects answer, goaway, reset, silence, close and refuse"
        default: return nil
        }
    }
}
