/// A word from Apple with known values. Apple may add others at any time, and they survive: compare with the constants,
/// and expect none of them to match.
public protocol OpenText: RawRepresentable, Hashable, Sendable, CustomStringConvertible where RawValue == String {
    /// Creates a value from its word.
    init(rawValue: String)
}

extension OpenText {
    /// The word.
    public var description: String { rawValue }
}

/// A number from Apple that stands for a word, with known values. Apple may add others at any time, and they survive.
public protocol OpenNumber: RawRepresentable, Hashable, Sendable, CustomStringConvertible where RawValue == Int64 {
    /// Creates a value from its number.
    init(rawValue: Int64)
}

extension OpenNumber {
    /// The number.
    public var description: String { "\(rawValue)" }
}
