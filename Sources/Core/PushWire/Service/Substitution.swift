import PushModel

/// The texts of an alert in which names in braces stand for values of the recipient. `{{` is a brace.
///
/// A payload is built once for all recipients. Where a value belongs, it then has a mark and the number of the name,
/// which are taken out again. The byte of the mark never occurs in UTF-8.
struct Substitution {
    /// The names in ascending order.
    let names: [String]
    /// The positions of the texts.
    let texts: [IndexedJSON.Position]

    private static let mark: UInt8 = 0xff

    /// Appends a text in quotation marks.
    func append(_ text: [UInt8], to bytes: inout [UInt8]) throws(Rejection) {
        bytes.append(UInt8(ascii: "\""))
        for part in try Self.parts(of: text) {
            switch part {
            case .text(let range): JSONText.appendEscaped(text[range], to: &bytes)
            case .name(let name):
                guard let number = names.firstIndex(of: name).flatMap({ UInt8(exactly: $0) }) else { break }
                bytes += [Self.mark, number]
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Takes the marks out of a payload.
    static func form(_ marked: [UInt8], locale: LocaleTag?) -> Wording.Form {
        guard marked.contains(mark) else { return Wording.Form(locale: locale, payload: marked) }
        var payload: [UInt8] = []
        payload.reserveCapacity(marked.count)
        var places: [Wording.Place] = []
        var index = 0
        while index < marked.count {
            if marked[index] == mark, index + 1 < marked.count {
                places.append(Wording.Place(offset: payload.count, value: Int(marked[index + 1])))
                index += 2
            } else {
                payload.append(marked[index])
                index += 1
            }
        }
        return Wording.Form(locale: locale, payload: payload, places: places)
    }

    // MARK: Parts

    enum Part: Equatable {
        case text(Range<Int>)
        case name(String)
    }

    static func parts(of text: [UInt8]) throws(Rejection) -> [Part] {
        var parts: [Part] = []
        var start = 0
        while let brace = text[start...].firstIndex(of: UInt8(ascii: "{")) {
            let next = brace + 1
            if next < text.count, text[next] == UInt8(ascii: "{") {
                parts.append(.text(start..<next))
                start = next + 1
                continue
            }
            let end = text[next...].firstIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "{") }
            guard let end, text[end] == UInt8(ascii: "}") else {
                throw Rejection(.badPayload, detail: "it has a brace without an end; write {{ for a brace")
            }
            guard end > next else {
                throw Rejection(.badPayload, detail: "it has {} without a name; write {{ for a brace")
            }
            if start < brace { parts.append(.text(start..<brace)) }
            parts.append(.name(String(decoding: text[next..<end], as: UTF8.self)))
            start = end + 1
        }
        if start < text.count { parts.append(.text(start..<text.count)) }
        return parts
    }
}
