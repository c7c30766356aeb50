import Synchronization

// Types that have no hooks must not pay for them, and whether a type has one Swift does not tell of it. So the hooks that
// every type has from here say it when they are called, which they are until that is known: once for each type.

extension ActiveRecord {
    public mutating func willSave(in transaction: Transaction) throws { Self.has(no: .willSave) }
    public mutating func didSave(in transaction: Transaction) throws { Self.has(no: .didSave) }
    public func willRemove(in transaction: Transaction) throws { Self.has(no: .willRemove) }
    public func didRemove(in transaction: Transaction) throws { Self.has(no: .didRemove) }

    private static func has(no hook: Hooks) {
        // A type without a table has nothing saved.
        try? Tables.table(of: Self.self).saving.absentHooks.insert(hook)
    }
}

struct Hooks: OptionSet {
    let rawValue: UInt8

    static let willSave = Hooks(rawValue: 1)
    static let didSave = Hooks(rawValue: 2)
    static let willRemove = Hooks(rawValue: 4)
    static let didRemove = Hooks(rawValue: 8)
    static let ofSaving: Hooks = [.willSave, .didSave]
    static let ofRemoving: Hooks = [.willRemove, .didRemove]
}

/// The hooks that a type is known not to have. One that is not in here may be there or not.
final class AbsentHooks: Sendable {
    private let bits = Atomic<UInt8>(0)

    @inline(__always)
    func contain(_ hooks: Hooks) -> Bool {
        bits.load(ordering: .relaxed) & hooks.rawValue == hooks.rawValue
    }

    func insert(_ hook: Hooks) {
        bits.bitwiseOr(hook.rawValue, ordering: .relaxed)
    }
}
