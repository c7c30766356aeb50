@testable import ActiveObject

/// A record for tests about transactions.
struct Jot: ActiveRecord, Equatable {
    var objectId: Int64?
    var text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Snapshot {
    /// Returns all rows of a statement as texts separated by bars.
    func texts(of sql: String) throws -> [String] {
        try connection.texts(of: sql)
    }
}

extension Connection {
    func texts(of sql: String) throws -> [String] {
        try withStatement(sql) { statement in
            var rows: [String] = []
            while try statement.step() {
                rows.append(
                    try (0..<statement.columnCount).map { column in
                        switch try statement.value(Int32(column)) {
                        case .null: "NULL"
                        case .integer(let value): "\(value)"
                        case .real(let value): "\(value)"
                        case .text(let value): value
                        case .blob(let value): "\(value.count) bytes"
                        }
                    }.joined(separator: "|"))
            }
            return rows
        }
    }
}

extension Database {
    func texts(of sql: String) async throws -> [String] {
        try await read { try $0.texts(of: sql) }
    }

    func texts() async throws -> [String] {
        try await Jot.findAll(in: self).map(\.text)
    }
}
