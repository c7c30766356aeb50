import PushModel

/// Members of an event's JSON object that are specific to its kind. They are written once and stored as JSON text.
enum JSONDetail {
    static func append(_ text: String, as name: StaticString, to bytes: inout [UInt8]) {
        appendKey(name, to: &bytes)
        JSONText.appendQuoted(text, to: &bytes)
    }

    static func append(_ provider: ProviderID, to bytes: inout [UInt8]) {
        switch provider.member {
        case .providerID: append(provider.text, as: "provider_id", to: &bytes)
        case .apnsUniqueID: append(provider.text, as: "apns_unique_id", to: &bytes)
        }
    }

    static func append(_ number: Int64, as name: StaticString, to bytes: inout [UInt8]) {
        appendKey(name, to: &bytes)
        DecimalText.append(number, to: &bytes)
    }

    static func append(_ flag: Bool, as name: StaticString, to bytes: inout [UInt8]) {
        appendKey(name, to: &bytes)
        bytes.append(flag ? "true" : "false")
    }

    static func append(_ counts: OutcomeCounts, to bytes: inout [UInt8]) {
        appendKey("counts", to: &bytes)
        bytes.append("{\"sent\":")
        DecimalText.append(UInt64(counts.sent), to: &bytes)
        bytes.append(",\"rejected\":")
        DecimalText.append(UInt64(counts.rejected), to: &bytes)
        bytes.append(",\"expired\":")
        DecimalText.append(UInt64(counts.expired), to: &bytes)
        bytes.append(",\"suppressed\":")
        DecimalText.append(UInt64(counts.suppressed), to: &bytes)
        bytes.append(",\"unknown\":")
        DecimalText.append(UInt64(counts.unknown), to: &bytes)
        // Few messages are superseded, cancelled or sent to families, so these members are left out if they are 0.
        if counts.superseded > 0 {
            bytes.append(",\"superseded\":")
            DecimalText.append(UInt64(counts.superseded), to: &bytes)
        }
        if counts.cancelled > 0 {
            bytes.append(",\"cancelled\":")
            DecimalText.append(UInt64(counts.cancelled), to: &bytes)
        }
        if counts.preferred > 0 {
            bytes.append(",\"preferred\":")
            DecimalText.append(UInt64(counts.preferred), to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends the message that takes the place of an earlier one.
    static func append(supersededBy id: MessageID, _ seq: UInt64, to bytes: inout [UInt8]) {
        let shown = EventNumber.shown(seq)
        appendKey("superseded_by", to: &bytes)
        bytes.append("{\"message_id\":")
        JSONText.appendQuoted(id.text, to: &bytes)
        bytes.append(",\"seq\":")
        DecimalText.append(shown.number, to: &bytes)
        if shown.part > 0 {
            bytes.append(",\"part\":")
            DecimalText.append(UInt64(shown.part), to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    static func append(_ detail: EventDraft.Detail, to bytes: inout [UInt8]) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        JSONText.appendQuoted(detail.name.text, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        switch detail.value {
        case .text(let text): JSONText.appendQuoted(text, to: &bytes)
        case .number(let number): DecimalText.append(number, to: &bytes)
        case .flag(let flag): bytes.append(flag ? "true" : "false")
        case .numbers(let numbers):
            bytes.append(UInt8(ascii: "{"))
            for (index, (name, number)) in numbers.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.appendQuoted(name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                DecimalText.append(number, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    static func appendKey(_ name: StaticString, to bytes: inout [UInt8]) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}
