/// The message of a log line. It interpolates only ``LogRepresentable`` values. Put text from a peer into a field
/// instead, where it is quoted.
package struct LogMessage: Sendable, ExpressibleByStringInterpolation {
    let text: String

    package init(stringLiteral value: String) {
        text = value
    }

    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        package mutating func appendInterpolation(_ value: some LogRepresentable) {
            text += value.logValue.plainText
        }

        @available(*, unavailable, message: "a secret is never logged; log the name of what it is for")
        package mutating func appendInterpolation<Value>(_ secret: Secret<Value>) {}
    }
}
