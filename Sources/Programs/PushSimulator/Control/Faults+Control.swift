import JSON5

/// The faults of a simulated service on the control port.
extension Faults {
    /// Lists, appends, replaces or removes the rules.
    ///
    /// - Parameter check: Throws if the service cannot follow a script.
    mutating func control(
        _ request: ControlRequest, check: (FaultScript) throws(ScriptError) -> Void = { (_) throws(ScriptError) in }
    ) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        switch request.method {
        case "GET": return list
        case "DELETE": replace(FaultScript())
        default:
            let tree = try SimulatorMachine.tree(request.body)
            let isAdded = request.method == "POST"
            let given = try ControlError.reading(advice: "the active rules are unchanged") {
                let script = try FaultScript(tree)
                try check(script)
                return script
            }
            // The new rules are appended to the active ones; all counts start again.
            let active = try ControlError.reading(advice: "the active rules are unchanged; PUT replaces them") {
                isAdded ? try script.adding(given) : given
            }
            replace(active, sources: (isAdded ? sources : []) + Self.texts(tree))
        }
        return .json { $0.member("rules", number: script.rules.count) }
    }

    /// Returns each rule of a script as JSON, so that GET shows the rules as they were sent.
    private static func texts(_ tree: JSONTree) -> [[UInt8]] {
        guard let rules = tree["rules"]?.elements else { return [] }
        return rules.map { rule in
            var text = JSONText()
            text.tree(rule)
            return text.bytes
        }
    }

    private var list: ControlResponse {
        .json { text in
            text.member("seed", number: script.seed)
            text.array("rules") { list in
                for (index, rule) in script.rules.enumerated() {
                    list.object {
                        $0.member("on", string: rule.moment.rawValue)
                        $0.member("applied", number: applied(index))
                        if let times = rule.times { $0.member("left", number: times - min(times, applied(index))) }
                        if index < sources.count { $0.member("rule", json: sources[index]) }
                    }
                }
            }
        }
    }
}
