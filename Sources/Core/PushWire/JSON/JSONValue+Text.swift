/// Values of members that may be absent, as answers and machine-readable output list them.
extension JSONValue {
    package static func text(_ text: String?) -> JSONValue? { text.map { .string($0) } }
    package static func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    /// Returns the milliseconds with three decimals.
    package static func milliseconds(_ time: Duration?) -> JSONValue? {
        time.map { .number(($0 / .microseconds(1)).rounded() / 1000) }
    }
}
