import Foundation

/// A value behind a lock. Foundation's lock is on all platforms and versions that this library supports.
final class Locked<Value>: @unchecked Sendable {
    // The conformance is unchecked: the value is used only while the lock is held.
    private let lock = NSLock()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
