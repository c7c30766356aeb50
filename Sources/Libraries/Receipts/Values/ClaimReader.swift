/// A reader of the claims in a verified JSON object. A claim that is absent or null is nil; a claim of the wrong type
/// is a refusal.
struct ClaimReader {
    private let object: ReceiptJSON
    /// The path of the object with a dot behind it, or nothing for the payload itself.
    private let path: String

    init(_ object: ReceiptJSON, path: String = "") {
        self.object = object
        self.path = path
    }

    private func claim(_ key: String) -> ReceiptJSON? {
        guard let value = object[key], value != .null else { return nil }
        return value
    }

    func has(_ key: String) -> Bool { claim(key) != nil }

    private func refusal(_ key: String, expecting kind: String, found value: ReceiptJSON) -> ReceiptRefusal {
        ReceiptRefusal(.malformedPayload, "The claim \(path)\(key) must be \(kind), not \(value.kind).")
    }

    /// Returns the claim, or throws if it is absent.
    func required<Value>(
        _ key: String, _ read: (String) throws(ReceiptRefusal) -> Value?
    ) throws(ReceiptRefusal) -> Value {
        guard let value = try read(key) else {
            throw ReceiptRefusal(.missingClaim, "The payload does not have the claim \(path)\(key).")
        }
        return value
    }

    func string(_ key: String) throws(ReceiptRefusal) -> String? {
        guard let value = claim(key) else { return nil }
        guard let text = value.string else { throw refusal(key, expecting: "a string", found: value) }
        return text
    }

    func integer(_ key: String) throws(ReceiptRefusal) -> Int64? {
        guard let value = claim(key) else { return nil }
        guard let number = value.integer else { throw refusal(key, expecting: "a whole number", found: value) }
        return number
    }

    func boolean(_ key: String) throws(ReceiptRefusal) -> Bool? {
        guard let value = claim(key) else { return nil }
        guard let flag = value.boolean else { throw refusal(key, expecting: "true or false", found: value) }
        return flag
    }

    func strings(_ key: String) throws(ReceiptRefusal) -> [String]? {
        guard let value = claim(key) else { return nil }
        guard let elements = value.elements, case let texts = elements.compactMap(\.string),
            texts.count == elements.count
        else { throw refusal(key, expecting: "an array of strings", found: value) }
        return texts
    }

    /// Returns milliseconds since 1970. A fraction of a millisecond, which occurs, is cut off.
    func time(_ key: String) throws(ReceiptRefusal) -> StoreTime? {
        guard let value = claim(key) else { return nil }
        if let number = value.integer { return StoreTime(milliseconds: number) }
        guard case .number(let number) = value, let milliseconds = Int64(exactly: number.rounded(.down)) else {
            throw refusal(key, expecting: "a time in milliseconds since 1970", found: value)
        }
        return StoreTime(milliseconds: milliseconds)
    }

    func text<Text: OpenText>(_ key: String) throws(ReceiptRefusal) -> Text? {
        try string(key).map { Text(rawValue: $0) }
    }

    func number<Number: OpenNumber>(_ key: String) throws(ReceiptRefusal) -> Number? {
        try integer(key).map { Number(rawValue: $0) }
    }

    /// Returns the reader of a nested object.
    func object(_ key: String) throws(ReceiptRefusal) -> ClaimReader? {
        guard let value = claim(key) else { return nil }
        guard value.members != nil else { throw refusal(key, expecting: "an object", found: value) }
        return ClaimReader(value, path: "\(path)\(key).")
    }
}
