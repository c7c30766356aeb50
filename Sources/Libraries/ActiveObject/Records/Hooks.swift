import Synchronization

// Types without hooks must not pay for them, but Swift cannot tell whether a type implements one. Therefore the default
// hooks record at their first call that the type does not implement them; after that they are no longer called.

extension ActiveRecord {
    /// Does nothing.
    public mutating func willSave(in transaction: Transaction) throws { Self.recordAbsence(of: .willSave) }
    /// Does nothing.
    public mutating func didSave(in transaction: Transaction) throws { Self.recordAbsence(of: .didSave) }
    /// Does nothing.
    public func willRemove(in transaction: Transaction) throws { Self.recordAbsence(of: .willRemove) }
    /// Does nothing.
    public func didRemove(in transaction: Transaction) throws { Self.recordAbsence(of: .didRemove) }

    private static func recordAbsence(of hook: Hooks) {
        // Without a table, no record of the type was saved.
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

/// The hooks that a type is known not to implement. It may or may not implement the others.
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
