import ActiveObject
import PushThread

/// A person that counts how many instances are in memory.
struct Tracked: ActiveRecord {
    var objectId: Int64?
    var name: String
    var age: TrackedAge
}

/// A value that counts its copies in memory by an object that all copies share.
struct TrackedAge: ColumnValue {
    final class Token: Sendable {
        let value: Int

        init(_ value: Int) {
            self.value = value
            LiveCount.count.withLock { $0 += 1 }
        }

        deinit {
            LiveCount.count.withLock { $0 -= 1 }
        }
    }

    let token: Token
    var value: Int { token.value }
    /// The current number of instances.
    var live: Int { LiveCount.count.withLock { $0 } }

    init(_ value: Int) {
        token = Token(value)
    }

    static var valueClass: ValueClass { .integer }
    var sqlValue: SQLValue { SQLValue(value) }

    init?(sqlValue: SQLValue) {
        guard case .integer(let number) = sqlValue else { return nil }
        self.init(Int(number))
    }
}

struct LiveCount {
    static let count = Locked(0)
    var now: Int { Self.count.withLock { $0 } }
}
