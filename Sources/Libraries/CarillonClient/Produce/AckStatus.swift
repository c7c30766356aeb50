import PushWire

/// One status of an ack.
struct AckStatus: Equatable {
    enum Verdict: Equatable {
        case accepted(Int64, [PushFinding], apps: [String: PushReceipt.Status] = [:])
        case duplicate(Int64, [PushFinding], apps: [String: PushReceipt.Status] = [:])
        case rejected(PushRefusal)
        case busy(Duration)
        case cancelled(sent: Int64, cancelled: Int64, apps: [String: CancelReceipt.Status] = [:])
        case tooLate
    }

    let key: IDKey
    let verdict: Verdict
}

extension AckStatus {
    /// The longest pause that a `busy` may ask for. A longer one is cut.
    private static let maxPause: Int64 = 60_000

    /// Reads one line of an ack. Returns nil for a line without an id, or with a status that this code does not know:
    /// the message is then sent again, or ends with its deadline.
    init?(_ line: UnsafeRawBufferPointer) {
        if let status = unsafe Self.plain(line) {
            self = status
        } else if let status = Self.parsed(unsafe Array(line)) {
            self = status
        } else {
            return nil
        }
    }

    /// Reads the two forms that nearly all acks have, without a parser:
    /// `{"id":"…","status":"accepted","seq":7}`, and the same with `duplicate`.
    private static func plain(_ line: UnsafeRawBufferPointer) -> AckStatus? {
        guard line.count > 16, unsafe hasBytes(#"{"id":""#, in: line, at: 0) else { return nil }
        var end = 7
        while end < line.count, unsafe line[end] != UInt8(ascii: "\"") {
            if unsafe line[end] == UInt8(ascii: "\\") { return nil }
            end += 1
        }
        var at = end + 1
        let isNew: Bool
        if unsafe hasBytes(#","status":"accepted","seq":"#, in: line, at: at) {
            isNew = true
            at += 27
        } else if unsafe hasBytes(#","status":"duplicate","seq":"#, in: line, at: at) {
            isNew = false
            at += 28
        } else {
            return nil
        }
        var number: Int64 = 0
        let first = at
        // Eighteen digits cannot overflow.
        while at < line.count, at - first < 18, case let digit = unsafe line[at] &- UInt8(ascii: "0"), digit < 10 {
            number = number * 10 + Int64(digit)
            at += 1
        }
        guard at > first, at == line.count - 1, unsafe line[at] == UInt8(ascii: "}") else { return nil }
        let key = unsafe IDKey(UnsafeRawBufferPointer(rebasing: line[7..<end]))
        return AckStatus(key: key, verdict: isNew ? .accepted(number, []) : .duplicate(number, []))
    }

    private static func hasBytes(_ word: StaticString, in line: UnsafeRawBufferPointer, at start: Int) -> Bool {
        let count = word.utf8CodeUnitCount
        guard line.count - start >= count else { return false }
        for index in 0..<count where unsafe line[start + index] != word.utf8Start[index] { return false }
        return true
    }

    /// Reads any form of a status.
    static func parsed(_ line: [UInt8]) -> AckStatus? {
        guard let json = try? JSONDocument(line, depthLimit: 8), json.kind(json.root) == .object,
            let id = json.value("id", in: json.root).flatMap({ json.string($0) }),
            let status = json.value("status", in: json.root).flatMap({ json.string($0) })
        else { return nil }
        func integer(_ name: StaticString) -> Int64 {
            json.value(name, in: json.root).flatMap { json.integer($0) } ?? 0
        }
        func text(_ name: StaticString) -> String? { json.value(name, in: json.root).flatMap { json.string($0) } }
        let verdict: Verdict
        switch status {
        case "accepted": verdict = .accepted(integer("seq"), findings(of: json), apps: apps(of: json, as: Self.pushed))
        case "duplicate":
            verdict = .duplicate(integer("seq"), findings(of: json), apps: apps(of: json, as: Self.pushed))
        case "rejected":
            let reason = PushRefusal.Reason(rawValue: text("reason") ?? "")
            verdict = .rejected(PushRefusal(reason, detail: text("detail") ?? "Carillon refuses the message"))
        case "busy":
            verdict = .busy(.milliseconds(max(1, min(integer("retry_after_ms"), maxPause))))
        case "cancelled":
            verdict = .cancelled(
                sent: integer("sent"), cancelled: integer("cancelled"), apps: apps(of: json, as: Self.ended))
        case "too_late": verdict = .tooLate
        default: return nil
        }
        return AckStatus(key: IDKey(id), verdict: verdict)
    }

    /// Returns the statuses of the members of a family; none for a single app.
    private static func apps<Status>(of json: JSONDocument, as status: (String) -> Status) -> [String: Status] {
        guard let list = json.value("apps", in: json.root), json.kind(list) == .object else { return [:] }
        var apps: [String: Status] = [:]
        for member in json.members(list).prefix(64) {
            guard let name = json.string(member.key), let word = json.string(member.value) else { continue }
            apps[name] = status(word)
        }
        return apps
    }

    private static func pushed(_ word: String) -> PushReceipt.Status { word == "duplicate" ? .duplicate : .accepted }

    private static func ended(_ word: String) -> CancelReceipt.Status {
        switch word {
        case "cancelled": .cancelled
        case "too_late": .tooLate
        default: .unknown
        }
    }

    private static func findings(of json: JSONDocument) -> [PushFinding] {
        guard let list = json.value("findings", in: json.root) else { return [] }
        func text(_ name: StaticString, of finding: JSONDocument.Position) -> String {
            json.value(name, in: finding).flatMap { json.string($0) } ?? ""
        }
        return json.elements(list).prefix(160).map {
            PushFinding(
                code: text("code", of: $0), path: text("path", of: $0), detail: text("detail", of: $0),
                app: json.value("app", in: $0).flatMap { json.string($0) })
        }
    }
}
