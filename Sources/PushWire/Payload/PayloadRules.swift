import PushModel

/// Checks a notification before it is sent, against Apple's documentation (Documentation/Protocols.md, "A4. The
/// request", "A5. Push types", "A11. The payload" and "A12. Broadcast channels").
package enum PayloadRules {
    /// Returns all findings, those of the options first, then those of the payload in order; at most a hundred, or
    /// `limit`, besides those for which the notification is refused.
    package static func findings(
        in payload: [UInt8], _ options: PushOptions, limit: Int = PayloadFindings.limit
    ) -> [PayloadFinding] {
        var findings = PayloadFindings(limit: limit)
        judgeOptions(options, &findings)
        judgeSize(payload, options, &findings)
        guard !payload.isEmpty else { return findings.all }
        let document: JSONDocument
        do {
            document = try JSONDocument(payload)
        } catch {
            let place = JSONError.place(of: error.offset, in: payload)
            findings.add(
                .refused, .notJSON, "",
                "it is not JSON: line \(place.line), column \(place.column): \(error.code.rawValue)",
                "correct it, or write it with a JSON library", at: error.offset)
            return findings.all
        }
        guard document.kind(document.root) == .object else {
            findings.add(
                .refused, .notObject, "", "it is \(document.kind(document.root).name), not an object",
                "put it into an object, beside aps", at: document.offset(document.root))
            return findings.all
        }
        if let key = document.repeatedKey() {
            findings.add(
                .risky, .repeatedKey, name(document.string(key) ?? ""),
                "the key occurs twice in its object, and it is undefined which one counts", "remove one",
                at: document.offset(key))
        }
        var judge = PayloadJudge(document, options, findings)
        judge.judgeTop()
        return judge.findings.all
    }

    private static func judgeSize(_ payload: [UInt8], _ options: PushOptions, _ findings: inout PayloadFindings) {
        if payload.isEmpty {
            findings.add(.refused, .empty, "", "it is empty", "send a JSON object")
        } else if payload.count > options.payloadLimit {
            let kind = options.target == .broadcast ? "a broadcast" : options.pushType.rawValue
            findings.add(
                .refused, .tooLarge, "",
                "it is \(payload.count) bytes; \(kind) allows \(options.payloadLimit)",
                "shorten it; let the app fetch what is larger")
        }
    }

    /// Returns a key for use in a message, cut to a limited length since anyone can choose it.
    static func name(_ key: String) -> String {
        key.utf8.count <= 48 ? key : "\(key.prefix(40))…"
    }
}

/// The state of checking a payload, with the findings so far.
struct PayloadJudge {
    let document: JSONDocument
    let options: PushOptions
    var findings: PayloadFindings

    init(_ document: JSONDocument, _ options: PushOptions, _ findings: PayloadFindings) {
        self.document = document
        self.options = options
        self.findings = findings
    }

    mutating func judgeTop() {
        let aps = document.value("aps", in: document.root)
        switch options.pushType {
        case .mdm: judgeMDM(aps)
        case .fileprovider: judgeFileProvider()
        default: break
        }
        guard let aps else {
            judgeMissingAps()
            return
        }
        guard document.kind(aps) == .object else {
            findings.add(
                .ignored, .apsNotObject, "aps", "it is \(document.kind(aps).name), not an object",
                "write an object, even an empty one", at: document.offset(aps))
            return
        }
        judgeNeighbours(of: aps)
        judgeKeys(aps)
        judgePushType(aps)
    }

    private mutating func judgeMissingAps() {
        switch options.pushType {
        case .alert, .background, .liveactivity, .widgets, .controls:
            let keys = document.members(document.root).map { [document] in document.string($0.key) ?? "" }
            let near = keys.first { $0.lowercased() == "aps" }
            findings.add(
                .ignored, .noAps, "", "there is no aps",
                near.map { "write aps instead of \($0)" } ?? "put the keys for the device into an aps object")
        case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk:
            break
        }
    }

    /// Checks for keys beside `aps` that have an effect inside it only.
    private mutating func judgeNeighbours(of aps: JSONDocument.Place) {
        for member in document.members(document.root) {
            guard let key = document.string(member.key), Self.onlyInside.contains(key),
                !document.members(aps).contains(where: { document.string($0.key) == key })
            else { continue }
            findings.add(
                .risky, .keyOutsideAps, key, "beside aps it is the app's own key and has no effect on the device",
                "move it into aps, unless the app reads it itself", at: document.offset(member.key))
        }
    }

    private static let onlyInside: Set<String> = [
        "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
        "interruption-level", "relevance-score", "content-state", "content-changed",
    ]

    private mutating func judgeMDM(_ aps: JSONDocument.Place?) {
        if let aps {
            findings.add(
                .ignored, .apsBesideMDM, "aps", "device management does not use aps", "remove it",
                at: document.offset(aps))
        }
        require("mdm", in: document.root, "", .string, "set it to the PushMagic that the device reported")
    }

    private mutating func judgeFileProvider() {
        require(
            "container-identifier", in: document.root, "", .string, "name the container whose content changed")
        if let domain = document.value("domain", in: document.root) { check(domain, "domain", .string) }
    }

    /// Checks that a member exists and has the required form.
    mutating func require(
        _ key: StaticString, in object: JSONDocument.Place, _ prefix: String, _ shape: ValueShape, _ advice: String
    ) {
        if let value = document.value(key, in: object) {
            if !isChecked(prefix) { check(value, "\(prefix)\(key)", shape) }
        } else {
            findings.add(
                .ignored, .missingKey, "\(prefix)\(key)", "it is missing", advice, at: document.offset(object))
        }
    }

    /// The members of `aps` are checked against its table anyway.
    private func isChecked(_ prefix: String) -> Bool { prefix == "aps." }
}
