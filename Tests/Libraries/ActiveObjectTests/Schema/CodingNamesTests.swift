import Testing

@testable import ActiveObject

@Suite struct CodingNamesTests {
    private struct Renamed: ActiveRecord, Codable, Equatable {
        enum CodingKeys: String, CodingKey {
            case objectId = "id"
            case name = "full_name"
            case rank
            case note = "NOTE \"1\""
        }
        static var columns: [Column<Renamed>] { [Column(\.note, named: "remark")] }
        static var indexes: [Index<Renamed>] { [.unique(\.name)] }
        var objectId: Int64?
        var name: String
        var draft: String?
        var rank = 0
        var note = ""
    }

    private static func columns<Record: ActiveRecord>(of type: Record.Type) throws -> [String] {
        try Tables.table(of: type).fields.map(\.column)
    }

    private static func error<Record: ActiveRecord>(of type: Record.Type) -> ActiveObjectError? {
        do throws(ActiveObjectError) {
            _ = try Tables.table(of: type)
            return nil
        } catch {
            return error
        }
    }

    @Test func `CodingKeys name the columns`() async throws {
        #expect(try Self.columns(of: Renamed.self) == ["id", "full_name", "rank", "remark"])
        try await withDatabase { database in
            var joe = Renamed(name: "Joe", draft: "lost", rank: 3, note: "n")
            try await joe.save(in: database)
            let found = try await Renamed.find(1, in: database)
            joe.draft = nil
            #expect(found == joe)
            #expect(
                try look(into: database.path, "SELECT id, full_name, rank, remark FROM renameds")
                    == [["1", "Joe", "3", "n"]])
        }
    }

    private struct OneKey: ActiveRecord, Codable {
        enum CodingKeys: String, CodingKey { case name = "n" }
        var objectId: Int64?
        var name: String
    }
    private struct LeftOut: ActiveRecord, Codable {
        enum CodingKeys: String, CodingKey { case objectId, name }
        var objectId: Int64?
        var name: String
        var count = 0
    }
    private struct LeftOutButNamed: ActiveRecord, Codable {
        enum CodingKeys: CodingKey { case name }
        static var columns: [Column<LeftOutButNamed>] { [Column(\.count, named: "count")] }
        var objectId: Int64?
        var name: String
        var count = 0
    }

    @Test func `A property without a coding key has no column, except objectId`() throws {
        #expect(try Self.columns(of: OneKey.self) == ["objectId", "n"])
        let error = Self.error(of: LeftOut.self)
        #expect(error?.code == .badRecord && error?.message.contains("count") == true)
        #expect(try Self.columns(of: LeftOutButNamed.self) == ["objectId", "name", "count"])
    }

    private struct ByHand: ActiveRecord, Decodable {
        enum Keys: String, CodingKey { case id, title }
        var objectId: Int64?
        var name: String?
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            objectId = try container.decode(Int64.self, forKey: .id)
            name = try container.decode(String.self, forKey: .title)
        }
    }
    private struct AnyName: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue + "_" }
        init?(intValue: Int) { nil }
    }
    private struct OpenKeys: ActiveRecord, Decodable {
        var objectId: Int64?
        var name: String
        init(from decoder: any Decoder) throws {
            // The decoder continues after the first error.
            _ = try? decoder.container(keyedBy: AnyName.self)
            _ = try? decoder.container(keyedBy: ByHand.Keys.self)
            name = ""
        }
    }
    private struct OneValue: ActiveRecord, Decodable {
        var objectId: Int64?
        var name: String
        init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }
    }
    private struct Unkeyed: ActiveRecord, Decodable {
        var objectId: Int64?
        var name: String
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
        }
    }
    private struct Careless: ActiveRecord, Decodable {
        var objectId: Int64?
        var name: String
        init(from decoder: any Decoder) { name = "" }
    }
    private enum Payload: CodingKey {
        case name, other(String)
        var stringValue: String { "name" }
        var intValue: Int? { nil }
        init?(stringValue: String) {
            guard stringValue == "name" else { return nil }
            self = .name
        }
        init?(intValue: Int) { nil }
    }
    private struct OddKeys: ActiveRecord, Decodable {
        var objectId: Int64?
        var name: String
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: Payload.self)
            name = ""
        }
    }
    private struct OddKeysAndMore: ActiveRecord, Decodable {
        var objectId: Int64?
        var more: String
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: Payload.self)
            more = ""
        }
    }
    private enum NoCase: CodingKey {
        var stringValue: String { "" }
        var intValue: Int? { nil }
        init?(stringValue: String) { nil }
        init?(intValue: Int) { nil }
    }
    private struct NoKeys: ActiveRecord, Decodable {
        var objectId: Int64?
        var note: String?
        init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: NoCase.self) }
    }

    @Test func `A hand-written decoder keeps the property names or requires column names`() throws {
        let byHand = Self.error(of: ByHand.self)
        #expect(byHand?.code == .badRecord && byHand?.column == "name")
        #expect(try Self.columns(of: OpenKeys.self) == ["objectId_", "name_"])
        #expect(try Self.columns(of: OneValue.self) == ["objectId", "name"])
        #expect(try Self.columns(of: Unkeyed.self) == ["objectId", "name"])
        #expect(try Self.columns(of: Careless.self) == ["objectId", "name"])
        #expect(try Self.columns(of: OddKeys.self) == ["objectId", "name"])
        let more = Self.error(of: OddKeysAndMore.self)
        #expect(more?.code == .badRecord && more?.column == "more")
        #expect(try Self.columns(of: NoKeys.self) == ["objectId"])
    }

    @propertyWrapper private struct Trimmed: Codable, Sendable, Equatable {
        var wrappedValue: String
    }
    private struct Wrapped: ActiveRecord, Codable, Equatable {
        var objectId: Int64?
        @Trimmed var name: String
    }
    private struct Generic<Value: Codable & Sendable>: ActiveRecord, Codable {
        enum CodingKeys: String, CodingKey { case objectId, value = "what" }
        var objectId: Int64?
        var value: Value
    }

    @Test func `Wrapped and generic properties have the names of their coding keys`() async throws {
        #expect(try Self.columns(of: Wrapped.self) == ["objectId", "name"])
        #expect(try Self.columns(of: Generic<Int>.self) == ["objectId", "what"])
        try await withDatabase { database in
            var record = Wrapped(name: "Joe")
            try await record.save(in: database)
            let found = try await Wrapped.find(1, in: database)
            #expect(found == record)
        }
    }
}
