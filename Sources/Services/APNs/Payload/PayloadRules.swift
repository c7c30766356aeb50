import PushModel
import PushWire

/// Checks a notification before it is sent, against Apple's documentation (Documentation/Protocols.md, "A4. The
/// request", "A5. Push types", "A11. The payload" and "A12. Broadcast channels").
package enum PayloadRules {
    /// Returns all findings, those of the options first, then those of the payload in order; at most a hundred, or
    /// `limit`, besides those for which the notification is refused.
    package static func findings(
        in payload: [UInt8], for options: PushOptions, limit: Int = PayloadFindings.limit
    ) -> [PayloadFinding] {
        var findings = PayloadFindings(limit: limit)
        judgeOptions(options, into: &findings)
        judgeSize(of: payload, for: options, into: &findings)
        guard !payload.isEmpty else { return findings.all }
        let document: JSONDocument
        do {
            document = try JSONDocument(payload)
        } catch {
            let position = JSONError.position(of: error.offset, in: payload)
            findings.add(
                .notJSON, severity: .refused, path: "",
                problem: "it is not JSON: line \(position.line), column \(position.column): \(error.code.rawValue)",
                advice: "correct it, or write it with a JSON library", at: error.offset)
            return findings.all
        }
        guard document.kind(document.root) == .object else {
            findings.add(
                .notObject, severity: .refused, path: "",
                problem: "it is \(document.kind(document.root).name), not an object",
                advice: "put it into an object, beside aps", at: document.offset(document.root))
            return findings.all
        }
        if let key = document.repeatedKey() {
            findings.add(
                .repeatedKey, severity: .risky, path: document.path(ofKey: key),
                problem: "the key occurs twice in its object, and it is undefined which one counts",
                advice: "remove one",
                at: document.offset(key))
        }
        var judge = PayloadJudge(document, options: options, findings: findings)
        judge.judgeTop()
        return judge.findings.all
    }

    private static func judgeSize(of payload: [UInt8], for options: PushOptions, into findings: inout PayloadFindings) {
        if payload.isEmpty {
            findings.add(.empty, severity: .refused, path: "", problem: "it is empty", advice: "send a JSON object")
        } else if payload.count > options.payloadLimit {
            let kind = options.target == .broadcast ? "a broadcast" : options.pushType.rawValue
            findings.add(
                .tooLarge, severity: .refused, path: "",
                problem: "it is \(payload.count) bytes; \(kind) allows \(options.payloadLimit)",
                advice: "shorten it; let the app fetch what is larger")
        }
    }
}
