package import PushModel

/// The acks that intake sends: each is one JSON object without a newline.
package enum AckText {
    /// - Parameters:
    ///   - apps: The statuses of the members of a family, as a JSON object; empty for a single app.
    ///   - findings: The findings, as a JSON array; empty without findings.
    package static func accepted(
        id: MessageID, seq: UInt64, apps: [UInt8] = [], findings: [UInt8] = [], to bytes: inout [UInt8]
    ) {
        begin(id: id.text, in: &bytes)
        bytes.append(#","status":"accepted","seq":"#)
        append(seq, to: &bytes)
        end(apps: apps, findings: findings, in: &bytes)
    }

    /// The parameters are those of ``accepted(id:seq:apps:findings:to:)``.
    package static func duplicate(
        id: MessageID, seq: UInt64, apps: [UInt8] = [], findings: [UInt8] = [], to bytes: inout [UInt8]
    ) {
        begin(id: id.text, in: &bytes)
        bytes.append(#","status":"duplicate","seq":"#)
        append(seq, to: &bytes)
        end(apps: apps, findings: findings, in: &bytes)
    }

    /// - Parameter apps: The statuses of the members of a family, as a JSON object; empty for a single app.
    package static func cancelled(
        id: MessageID, _ counts: CancelCounts, apps: [UInt8] = [], to bytes: inout [UInt8]
    ) {
        begin(id: id.text, in: &bytes)
        bytes.append(#","status":"cancelled","sent":"#)
        DecimalText.append(counts.sent, to: &bytes)
        bytes.append(#","cancelled":"#)
        DecimalText.append(counts.cancelled, to: &bytes)
        end(apps: apps, findings: [], in: &bytes)
    }

    /// - Parameter apps: The statuses of the members of a family, as a JSON object; empty for a single app.
    package static func tooLate(id: MessageID, apps: [UInt8] = [], to bytes: inout [UInt8]) {
        begin(id: id.text, in: &bytes)
        bytes.append(#","status":"too_late""#)
        end(apps: apps, findings: [], in: &bytes)
    }

    /// Returns the statuses of the members of a family, as a JSON object.
    package static func apps(of family: Family, statuses: [String]) -> [UInt8] {
        var text: [UInt8] = []
        for (app, status) in zip(family.members, statuses) {
            text.append(text.isEmpty ? "{" : ",")
            JSONText.appendQuoted(app.name, to: &text)
            text.append(UInt8(ascii: ":"))
            JSONText.appendQuoted(status, to: &text)
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// - Parameter id: The id as the producer gave it; nil, if it could not be read, is written as `null`.
    package static func rejected(id: String?, _ rejection: Rejection, to bytes: inout [UInt8]) {
        begin(id: id, in: &bytes)
        bytes.append(#","status":"rejected","reason":""#)
        bytes.append(contentsOf: rejection.reason.rawValue.utf8)
        bytes.append(#"","detail":"#)
        JSONText.appendQuoted(rejection.detail, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    package static func busy(id: String?, retryAfterMS: Int64, to bytes: inout [UInt8]) {
        begin(id: id, in: &bytes)
        bytes.append(#","status":"busy","retry_after_ms":"#)
        DecimalText.append(retryAfterMS, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends the number within its part, and the part unless it is 0.
    private static func append(_ seq: UInt64, to bytes: inout [UInt8]) {
        let shown = EventNumber.shown(seq)
        DecimalText.append(shown.number, to: &bytes)
        if shown.part > 0 {
            bytes.append(#","part":"#)
            DecimalText.append(UInt64(shown.part), to: &bytes)
        }
    }

    private static func end(apps: [UInt8], findings: [UInt8], in bytes: inout [UInt8]) {
        if !apps.isEmpty {
            bytes.append(#","apps":"#)
            bytes.append(contentsOf: apps)
        }
        if !findings.isEmpty {
            bytes.append(#","findings":"#)
            bytes.append(contentsOf: findings)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private static func begin(id: String?, in bytes: inout [UInt8]) {
        bytes.append(#"{"id":"#)
        guard var id else {
            bytes.append("null")
            return
        }
        let start = bytes.count
        let isPlain = id.withUTF8 { text in
            bytes.append(UInt8(ascii: "\""))
            unsafe bytes.append(contentsOf: text)
            bytes.append(UInt8(ascii: "\""))
            return unsafe text.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        if !isPlain {
            bytes.removeLast(bytes.count - start)
            JSONText.appendQuoted(id, to: &bytes)
        }
    }
}
