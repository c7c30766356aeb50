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

    mutating func controlFaults(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        switch request.method {
        case "GET": return faultList
        case "DELETE": replaceFaults(FaultScript(), sources: [])
        default:
            let tree = try SimulatorMachine.tree(request.body)
            let isAdded = request.method == "POST"
            let advice =
                isAdded ? "the active rules are unchanged; PUT replaces them" : "the active rules are unchanged"
            let script = try ControlError.reading(advice: advice) {
                let script = try FaultScript(tree)
                try Self.check(script)
                return isAdded ? try faults.script.adding(script) : script
            }
            replaceFaults(script, sources: (isAdded ? faultSources : []) + SimulatorMachine.sources(tree))
        }
        return .json { $0.member("rules", number: faults.script.rules.count) }
    }

    private mutating func replaceFaults(_ script: FaultScript, sources: [[UInt8]]) {
        faults.replace(script)
        faultSources = sources
    }

    private var faultList: ControlResponse {
        .json { text in
            text.member("seed", number: faults.script.seed)
            text.array("rules") { list in
                for (index, rule) in faults.script.rules.enumerated() {
                    list.object {
                        $0.member("on", string: rule.moment.rawValue)
                        $0.member("applied", number: faults.applied(index))
                        if index < faultSources.count { $0.member("rule", json: faultSources[index]) }
                    }
                }
            }
        }
    }
}
