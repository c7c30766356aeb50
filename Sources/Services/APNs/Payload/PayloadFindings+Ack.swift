import PushWire

extension PayloadFinding {
    /// Returns the findings of an accepted payload as JSON for the ack: `[{"code":…,"path":…,"detail":…},…]`; nothing
    /// without findings.
    static func ack(_ findings: [PayloadFinding]) -> [UInt8] {
        guard !findings.isEmpty else { return [] }
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for finding in findings {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(#"{"code":""#)
            bytes.append(contentsOf: finding.code.word.utf8)
            bytes.append(#"","path":"#)
            JSONText.appendQuoted(finding.path, to: &bytes)
            bytes.append(#","detail":"#)
            JSONText.appendQuoted("\(finding.problem); \(finding.advice)", to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }
}
