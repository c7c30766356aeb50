import PushThread

/// The types whose tables are known to exist in one database and to fit.
final class SchemaState: Sendable {
    private let prepared = Locked<Set<ObjectIdentifier>>([])

    func isPrepared<Record>(_ type: Record.Type) -> Bool {
        prepared.withLock { $0.contains(ObjectIdentifier(type)) }
    }

    func insert(_ types: [ObjectIdentifier]) {
        if !types.isEmpty { prepared.withLock { $0.formUnion(types) } }
    }

    func remove(_ type: ObjectIdentifier) {
        prepared.withLock { _ = $0.remove(type) }
    }

    func removeAll() {
        prepared.withLock { $0 = [] }
    }
}
