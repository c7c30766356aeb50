import PushModel
import PushText
package import PushTime
package import PushWire

/// Patterns of texts in schemas.
enum TextPattern {
    /// A text without control characters: ``ControlCharacters``.
    static let withoutControls: JSONValue = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
    /// The name of an app, a node or a key.
    static let name: JSONValue = "^[A-Za-z0-9._-]{1,64}$"
}

extension Form where Value == String {
    /// A text of a limited number of bytes, without control characters.
    package static func text(_ lengths: ClosedRange<Int>, example: String = "text") -> Form {
        @Sendable func check(_ text: String, _ faults: inout InputFaults) -> String? {
            let count = text.utf8.count
            guard lengths.contains(count) else {
                let isShort = count < lengths.lowerBound
                faults.add(
                    isShort ? .tooShort : .tooLong,
                    detail: "the text has \(count) bytes; \(lengths.lowerBound) to \(lengths.upperBound) are allowed")
                return nil
            }
            guard !ControlCharacters.occur(in: text.utf8) else {
                faults.add(.badValue, detail: "the text contains a control character")
                return nil
            }
            return text
        }
        return Form(
            schema: [
                "type": "string", "minLength": .integer(Int64(min(lengths.lowerBound, 1))),
                "maxLength": .integer(Int64(lengths.upperBound)), "pattern": TextPattern.withoutControls,
            ],
            example: example, text: check
        ) { document, position, faults in
            guard let text = document.text(position, or: &faults) else { return nil }
            return check(text, &faults)
        }
    }
}

extension Form where Value: FixedWidthInteger {
    /// A whole number in a range.
    package static func integer(_ range: ClosedRange<Value>) -> Form {
        @Sendable func check(_ number: Value?, _ shown: String, _ faults: inout InputFaults) -> Value? {
            guard let number, range.contains(number) else {
                let code: InputFault.Code = number.map { $0 < range.lowerBound ? .tooSmall : .tooGreat } ?? .badValue
                faults.add(
                    code,
                    detail:
                        "a whole number from \(range.lowerBound) to \(range.upperBound) is expected, not \(shown)")
                return nil
            }
            return number
        }
        return Form(
            schema: [
                "type": "integer", "minimum": .integer(Int64(clamping: range.lowerBound)),
                "maximum": .integer(Int64(clamping: range.upperBound)),
            ],
            example: range.lowerBound,
            text: { text, faults in
                let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
                let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
                return check(isNumber ? Value(text) : nil, "\"\(PlainText.line(text, limit: 60))\"", &faults)
            }
        ) { document, position, faults in
            guard document.kind(position).isNumber else {
                faults.add(.wrongType, detail: "a whole number is expected, not \(document.kind(position).name)")
                return nil
            }
            let shown = String(decoding: document.text(position).prefix(60), as: UTF8.self)
            return check(document.wholeNumber(position).flatMap { Value(exactly: $0) }, shown, &faults)
        }
    }
}

extension Form where Value == Bool {
    package static var flag: Form {
        Form(
            schema: ["type": "boolean"], example: true,
            text: { text, faults in
                switch text {
                case "true": return true
                case "false": return false
                default:
                    faults.add(
                        .badValue, detail: "true or false is expected, not \"\(PlainText.line(text, limit: 60))\"")
                    return nil
                }
            }
        ) { document, position, faults in
            if let flag = document.bool(position) { return flag }
            faults.add(.wrongType, detail: "true or false is expected, not \(document.kind(position).name)")
            return nil
        }
    }
}

extension Form where Value == WallTime {
    /// A time in milliseconds since 1970.
    package static var time: Form<WallTime> {
        let number = Form<Int64>.integer(0...Int64.max)
        return Form(
            schema: ["type": "integer", "minimum": 0, "description": "milliseconds since 1970"],
            example: WallTime(milliseconds: 1_767_225_600_000),
            text: { text, faults in number.readText?(text, &faults).map { WallTime(milliseconds: $0) } }
        ) { document, position, faults in
            number.readJSON(document, position, &faults).map { WallTime(milliseconds: $0) }
        }
    }
}

extension Form where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of the words of an enumeration.
    package static var choice: Form {
        @Sendable func words() -> [String] { Value.allCases.map(\.rawValue) }
        @Sendable func check(_ text: String, _ faults: inout InputFaults) -> Value? {
            if let value = Value(rawValue: text) { return value }
            let shown = PlainText.line(text, limit: 60)
            let nearest = NearestWord.to(shown, in: words()).map { "; did you mean \"\($0)\"?" } ?? ""
            faults.add(
                .badValue, detail: "one of \(words().joined(separator: ", ")) is expected, not \"\(shown)\"\(nearest)")
            return nil
        }
        return Form(
            schema: ["type": "string", "enum": .array(words().map { .string($0) })],
            // An enumeration without cases has no values to choose from, so that none can be missing.
            example: Value.allCases.first!, text: check
        ) { document, position, faults in
            guard let text = document.text(position, or: &faults) else { return nil }
            return check(text, &faults)
        }
    }
}

extension Form {
    /// A text that is parsed.
    ///
    /// - Parameters:
    ///   - rule: the rest of a sentence that begins with the name of the value, such as "is a UUID".
    ///   - parse: returns nil for any other text.
    package static func parsed(
        schema: @autoclosure @escaping @Sendable () -> JSONValue, example: Value,
        rule: @autoclosure @escaping @Sendable () -> String, parse: @escaping @Sendable (String) -> Value?
    ) -> Form {
        @Sendable func check(_ text: String, _ faults: inout InputFaults) -> Value? {
            if let value = parse(text) { return value }
            faults.add(.badValue, detail: "the value is invalid: it \(rule())")
            return nil
        }
        return Form(schema: schema(), example: example, text: check) { document, position, faults in
            guard let text = document.text(position, or: &faults) else { return nil }
            return check(text, &faults)
        }
    }

    /// A list. In a query, it is a text with commas.
    package static func list<Element: Sendable>(
        of element: Form<Element>, count range: ClosedRange<Int>
    ) -> Form where Value == [Element] {
        @Sendable func check(_ count: Int, _ faults: inout InputFaults) -> Bool {
            if range.contains(count) { return true }
            faults.add(
                count < range.lowerBound ? .tooFew : .tooMany,
                detail: "there are \(count) elements; \(range.lowerBound) to \(range.upperBound) are allowed")
            return false
        }
        var text: TextReader?
        if let read = element.readText {
            text = { (text: String, faults: inout InputFaults) -> [Element]? in
                // In a form, an empty text is the empty list.
                let words = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
                guard check(words.count, &faults) else { return nil }
                var values: [Element] = []
                for word in words {
                    guard let value = read(String(word), &faults) else { return nil }
                    values.append(value)
                }
                return values
            }
        }
        return Form(
            schema: [
                "type": "array", "items": element.schema, "minItems": .integer(Int64(range.lowerBound)),
                "maxItems": .integer(Int64(range.upperBound)),
            ],
            example: [element.example], text: text
        ) { document, position, faults in
            guard document.kind(position) == .array else {
                faults.add(.wrongType, detail: "an array is expected, not \(document.kind(position).name)")
                return nil
            }
            let elements = Array(document.elements(position))
            guard check(elements.count, &faults) else { return nil }
            var values: [Element] = []
            for (index, position) in elements.enumerated() {
                let value = faults.inside("\(index)") { element.readJSON(document, position, &$0) }
                if let value { values.append(value) }
            }
            return values.count == elements.count ? values : nil
        }
    }

    /// An object whose members are read by `read`.
    package static func object(_ read: @escaping @Sendable (inout InputReader) -> Value) -> Form {
        var declaration = InputReader()
        let example = read(&declaration)
        let declared = declaration.declared
        return Form(schema: declared.bodySchema, example: example, text: nil) {
            document, position, faults in
            guard document.kind(position) == .object else {
                faults.add(.wrongType, detail: "an object is expected, not \(document.kind(position).name)")
                return nil
            }
            var reader = InputReader(document: document, at: position, faults: faults)
            let value = read(&reader)
            let before = faults.count
            faults = reader.finish()
            return faults.count == before ? value : nil
        }
    }
}
