import PushModel
import PushPostgreSQL
import PushTime

/// The clock by which stored data ages. All nodes store its state in one row, so that a node that starts, or takes a part
/// over, does not believe a clock of the database that has jumped ahead.
extension PostgreSQLCore {
    /// Advances the clock by which keys and events age, and returns its time.
    func age() -> WallTime {
        ageClock.advance(wall: settings.clock(), steady: settings.steadyClock())
        return ageClock.time
    }

    /// Returns the state in the table of marks; nil if no node has stored one.
    static func age(in result: PostgreSQLResult) throws -> AgeClock.Stored? {
        for row in result.rows where try row.value(1, as: String.self) == SharedStatements.ageKind {
            let since = try row.value(5, as: [Int64].self).first
            return AgeClock.Stored(
                time: WallTime(milliseconds: try row.value(3)),
                aheadSince: since.map { WallTime(milliseconds: $0) })
        }
        return nil
    }
}

extension PostgreSQLSection {
    func add(_ age: AgeClock.Stored) {
        call(SharedStatements.setAge) { parameters in
            parameters.append(int8: age.time.milliseconds)
            parameters.append(int8Array: [age.aheadSince].compactMap { $0?.milliseconds })
        }
    }
}
