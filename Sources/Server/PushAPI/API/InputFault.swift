/// A fault of one value in a request.
package struct InputFault: Sendable, Equatable, Codable {
    /// The kind of a fault, for programs. The set is closed.
    package enum Code: String, CaseIterable, Codable, Sendable {
        /// The value is required.
        case missing
        /// There is no value with this name.
        case unknown
        /// The value is given more than once.
        case repeated
        case wrongType = "wrong_type"
        case tooShort = "too_short"
        case tooLong = "too_long"
        case tooSmall = "too_small"
        case tooGreat = "too_great"
        case tooFew = "too_few"
        case tooMany = "too_many"
        /// The value breaks the rule of its form, or contradicts another value.
        case badValue = "bad_value"
        case tooDeep = "too_deep"
    }

    /// The part of a request that contains the value.
    package enum Place: Sendable, Equatable {
        /// A JSON pointer into the body (RFC 6901).
        case pointer(String)
        /// The name of a parameter in the path or in the query.
        case parameter(String)
    }

    package let pointer: String?
    package let parameter: String?
    package let code: Code
    /// A sentence for people. It never contains a token.
    package let detail: String

    package init(_ code: Code, at place: Place, detail: String) {
        switch place {
        case .pointer(let pointer): (self.pointer, parameter) = (pointer, nil)
        case .parameter(let name): (pointer, parameter) = (nil, name)
        }
        self.code = code
        self.detail = detail
    }

    /// The fault with its place.
    package var sentence: String {
        if let parameter { return "\(parameter): \(detail)" }
        guard let pointer, !pointer.isEmpty else { return detail }
        return "\(pointer): \(detail)"
    }
}
