@testable import PushLoop

/// A thread-safe recorder of events.
final class Recorder<Value: Sendable>: Sendable {
    private let gathered = Locked<[Value]>([])

    func add(_ value: Value) {
        gathered.withLock { $0.append(value) }
    }

    var values: [Value] { gathered.withLock { $0 } }
}
