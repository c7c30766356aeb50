/// The reason why signed data or a receipt is not accepted: a code for programs, and a sentence for people.
public struct ReceiptRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code, from a closed set.
    public let code: Code
    /// A sentence that says what is wrong, where, and what to do if anything can be done.
    public let sentence: String

    /// Creates a refusal.
    public init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    /// The sentence.
    public var description: String { sentence }

    /// Whether the same data may be accepted later: the network or a service of Apple failed, and nothing is known to
    /// be wrong with the data.
    public var isRetryable: Bool { code.isRetryable }

    /// Returns the refusal with the place of the data in front, for data that is nested in other data.
    func within(_ place: String) -> ReceiptRefusal {
        ReceiptRefusal(code, "\(place): \(sentence)")
    }
}

extension ReceiptRefusal {
    /// Returns text from a signer or a peer in a form that fits a message: without control characters, and short.
    static func quoted(_ text: String) -> String {
        "\"\(plain(text, limit: 100))\""
    }

    static func plain(_ text: String, limit: Int = 300) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: result += "?"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.dropFirst(limit).isEmpty ? result : result + "…"
    }
}
