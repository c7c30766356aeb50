/// A value that may be logged. A type with private content conforms with the part that may be shown (a device token
/// with its device id) or does not conform at all, like ``Secret``.
package protocol LogRepresentable {
    var logValue: LogValue { get }
}

/// The value of a field. JSON keeps numbers as numbers; text adds units.
package enum LogValue: Hashable, Sendable, LogRepresentable {
    case string(String)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case bool(Bool)
    /// A duration. In JSON, a number of seconds.
    case duration(Duration)
    /// A number of bytes, never their content.
    case bytes(Int)
    case time(WallTime)
    case list([LogValue])

    package var logValue: LogValue { self }
}

extension String: LogRepresentable {
    package var logValue: LogValue { .string(self) }
}

extension Substring: LogRepresentable {
    package var logValue: LogValue { .string(String(self)) }
}

extension Bool: LogRepresentable {
    package var logValue: LogValue { .bool(self) }
}

extension Double: LogRepresentable {
    package var logValue: LogValue { .double(self) }
}

extension Int: LogRepresentable {
    package var logValue: LogValue { .int(Int64(self)) }
}

extension Int32: LogRepresentable {
    package var logValue: LogValue { .int(Int64(self)) }
}

extension Int64: LogRepresentable {
    package var logValue: LogValue { .int(self) }
}

extension UInt8: LogRepresentable {
    package var logValue: LogValue { .uint(UInt64(self)) }
}

extension UInt16: LogRepresentable {
    package var logValue: LogValue { .uint(UInt64(self)) }
}

extension UInt32: LogRepresentable {
    package var logValue: LogValue { .uint(UInt64(self)) }
}

extension UInt64: LogRepresentable {
    package var logValue: LogValue { .uint(self) }
}

extension Duration: LogRepresentable {
    package var logValue: LogValue { .duration(self) }
}

extension WallTime: LogRepresentable {
    package var logValue: LogValue { .time(self) }
}

extension LogLevel: LogRepresentable {
    package var logValue: LogValue { .string(name) }
}

extension SystemError: LogRepresentable {
    package var logValue: LogValue { .string("\(description) (errno \(number))") }
}

extension Array: LogRepresentable where Element: LogRepresentable {
    package var logValue: LogValue { .list(map(\.logValue)) }
}
