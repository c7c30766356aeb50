import PushWire

/// The state of checking a payload, with the findings so far.
struct PayloadJudge {
    let document: JSONDocument
    let options: PushOptions
    var findings: PayloadFindings

    init(_ document: JSONDocument, options: PushOptions, findings: PayloadFindings) {
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
                .apsNotObject, severity: .ignored, path: "aps",
                problem: "it is \(document.kind(aps).name), not an object",
                advice: "write an object, even an empty one", at: document.offset(aps))
            return
        }
        judgeKeys(beside: aps)
        judgeKeys(of: aps)
        judgePushType(aps)
    }

    private mutating func judgeMissingAps() {
        switch options.pushType {
        case .alert where options.isForPass: break
        case .alert, .background, .liveactivity, .widgets, .controls, .accessory:
            let keys = document.members(document.root).map { [document] in document.string($0.key) ?? "" }
            let near = keys.first { $0.lowercased() == "aps" }
            findings.add(
                .noAps, severity: .ignored, path: "", problem: "there is no aps",
                advice: near.map { "write aps instead of \($0)" } ?? "put the keys for the device into an aps object")
        case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk:
            break
        }
    }

    /// Checks for keys beside `aps` that have an effect inside it only.
    private mutating func judgeKeys(beside aps: JSONDocument.Position) {
        for member in document.members(document.root) {
            guard let key = document.string(member.key), Self.onlyInside.contains(key),
                !document.members(aps).contains(where: { document.string($0.key) == key })
            else { continue }
            findings.add(
                .keyOutsideAps, severity: .risky, path: key,
                problem: "beside aps it is the app's own key and has no effect on the device",
                advice: "move it into aps, unless the app reads it itself", at: document.offset(member.key))
        }
    }

    private static let onlyInside: Set<String> = [
        "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
        "interruption-level", "relevance-score", "content-state", "content-changed",
    ]

    private mutating func judgeMDM(_ aps: JSONDocument.Position?) {
        if let aps {
            findings.add(
                .apsBesideMDM, severity: .ignored, path: "aps", problem: "device management does not use aps",
                advice: "remove it",
                at: document.offset(aps))
        }
        require(
            "mdm", in: document.root, prefix: "", shape: .string,
            advice: "set it to the PushMagic that the device reported")
    }

    private mutating func judgeFileProvider() {
        require(
            "container-identifier", in: document.root, prefix: "", shape: .string,
            advice: "name the container whose content changed")
        if let domain = document.value("domain", in: document.root) { check(domain, at: "domain", shape: .string) }
    }

    /// Checks that a member exists and has the required form.
    mutating func require(
        _ key: StaticString, in object: JSONDocument.Position, prefix: String, shape: ValueShape, advice: String
    ) {
        if let value = document.value(key, in: object) {
            if !isChecked(prefix) { check(value, at: "\(prefix)\(key)", shape: shape) }
        } else {
            findings.add(
                .missingKey, severity: .ignored, path: "\(prefix)\(key)", problem: "it is missing", advice: advice,
                at: document.offset(object))
        }
    }

    /// The members of `aps` are checked against its table anyway.
    private func isChecked(_ prefix: String) -> Bool { prefix == "aps." }
}
