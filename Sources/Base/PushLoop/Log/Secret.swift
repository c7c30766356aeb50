/// A value that must never be shown: a key, a password, a token. Printing, interpolating, dumping or reflecting it
/// yields `<secret>`. It is not ``LogRepresentable``, so code that logs it does not compile.
package struct Secret<Value: Sendable>: Sendable {
    private let value: Value

    package init(_ value: Value) {
        self.value = value
    }

    /// Calls `body` with the secret value. The result of `body` is not protected.
    package func withRevealed<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(value)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }

    /// A mirror without children, because `dump` and debugger summaries walk the mirror.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
