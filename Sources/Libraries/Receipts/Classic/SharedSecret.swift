/// The shared secret of an app, from App Store Connect. Printing, interpolating, dumping or reflecting it yields
/// `<secret>`.
public struct SharedSecret: Sendable {
    let text: String

    /// Creates a secret.
    public init(_ text: String) {
        self.text = text
    }
}

extension SharedSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<secret>`.
    public var description: String { "<secret>" }
    /// Always `<secret>`.
    public var debugDescription: String { "<secret>" }
    /// A mirror without children, because `dump` and debuggers walk the mirror.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .struct) }
}
