/// Something that is never shown: a key, a password, a token. Printing, interpolating, dumping or reflecting it gives
/// `<secret>`; it is not `LogRepresentable`, so a line that would log it does not compile.
package struct Secret<Value: Sendable>: Sendable {
    private let value: Value

    package init(_ value: Value) {
        self.value = value
    }

    /// Opens the secret to the one who needs it. What `body` returns is no longer protected.
    package func withRevealed<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(value)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }

    /// Without children: `dump` and a debugger's summary walk the mirror.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
