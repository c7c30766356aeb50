import FoundationEssentials
import Testing

@testable import ActiveObject

@Suite struct PropertyTests {
    private struct Keywords: ActiveRecord, Equatable {
        static let tableName = "order"
        static var indexes: [Index<Keywords>] { [.unique(\.`where`, \.group)] }
        var objectId: Int64?
        var select: Int
        var `where`: String
        var `default`: Double?
        var group = "g"
        var `two words` = 1
        var 🦉 = "owl"
        var größe = 2
    }

    private struct Constant: ActiveRecord, Equatable {
        let name: String
        let rank: Int?
        var objectId: Int64?
        var computed: String { name + "!" }
        static let shared = 1
        var observed = 0 { didSet {} }
    }

    private struct OnlyKey: ActiveRecord, Equatable {
        var objectId: Int64?
    }

    private static func roundTrip<Record: ActiveRecord & Equatable>(_ record: Record) async throws {
        try await withDatabase { database in
            let kept = try await database.write { transaction in
                var record = record
                try record.save(in: transaction)
                try record.save(in: transaction)
                return record
            }
            let found = try await Record.find(try #require(kept.objectId), in: database)
            #expect(found == kept)
            let all = try await Record.findAll(in: database)
            #expect(all == [kept])
            // The file is compared with the type again.
            let path = database.path
            await database.close()
            let again = try await Database.open(path, name: nil)
            let same = try await Record.findAll(in: again)
            await again.close()
            #expect(same == [kept])
        }
    }

    @Test func `A property can have any name`() async throws {
        try await Self.roundTrip(Keywords(select: 1, where: "here", default: 0.5))
    }

    @Test func `Constants are columns, and computed properties are not`() async throws {
        #expect(try Tables.table(of: Constant.self).fields.map(\.column) == ["objectId", "name", "rank", "observed"])
        try await Self.roundTrip(Constant(name: "Joe", rank: nil))
        try await Self.roundTrip(Constant(name: "Joe", rank: 3))
    }

    @Test func `A record can have only its key, or two hundred columns`() async throws {
        try await Self.roundTrip(OnlyKey())
        try await Self.roundTrip(WideRecord(p0: -1, p199: 77))
    }

    private struct Node<Value: Codable & Sendable & Equatable>: ActiveRecord, Equatable {
        static var tableName: String { "nodes_\(Value.self)" }
        var objectId: Int64?
        var value: Value
        var others: [Value] = []
    }

    @Test func `Each specialization of a generic type has its own table`() async throws {
        try await Self.roundTrip(Node(value: 3, others: [1, 2]))
        try await Self.roundTrip(Node(value: "x", others: ["y"]))
        try await Self.roundTrip(Node<Int?>(value: nil, others: [1, nil]))
    }

    // MARK: Unsupported types

    private final class Object: ActiveRecord, @unchecked Sendable {
        var objectId: Int64?
        var name = ""
    }
    private enum Choice: ActiveRecord {
        case one(Int64?), other
        var objectId: Int64? {
            get { nil }
            set {}
        }
    }
    private struct WithTuple: ActiveRecord {
        var objectId: Int64?
        var pair = (1, 2)
    }
    private struct WithClosure: ActiveRecord {
        var objectId: Int64?
        var action: @Sendable () -> Void = {}
        var after = 1
    }
    private struct WithOptionalClosure: ActiveRecord {
        var objectId: Int64?
        var action: (@Sendable () -> Void)?
    }
    private struct WithMetatype: ActiveRecord {
        var objectId: Int64?
        var kind = Int.self
    }
    private struct WithWeak: ActiveRecord {
        var objectId: Int64?
        weak var object: Object?
    }
    private struct WithLazy: ActiveRecord {
        var objectId: Int64?
        lazy var name = "Joe"
    }
    private struct WithClass: ActiveRecord {
        var objectId: Int64?
        var object = Object()
    }
    private struct WithExistential: ActiveRecord {
        var objectId: Int64?
        var value: any Sendable & Codable = 1
    }
    private struct WithOptionalTwice: ActiveRecord {
        var objectId: Int64?
        var value: Int??
    }
    private struct WithWide: ActiveRecord {
        var objectId: Int64?
        var value: Int128 = 0
    }
    private struct WithUnsigned: ActiveRecord {
        var objectId: Int64?
        var value: UInt128?
    }
    private struct WrongKey: ActiveRecord {
        var objectId: Int64? {
            get { nil }
            set {}
        }
        var value = 0
    }
    private struct TwoNames: ActiveRecord {
        var objectId: Int64?
        var rank = 0
        var RANK = 0
    }
    private struct SameNames: ActiveRecord {
        static var columns: [Column<SameNames>] { [Column(\.name, named: "Rank")] }
        var objectId: Int64?
        var rank = 0
        var name = ""
    }
    private struct UnstoredInt: ActiveRecord {
        static var columns: [Column<UnstoredInt>] { [Column(\.rank, isStored: false)] }
        var objectId: Int64?
        var rank = 0
    }
    private struct ComputedColumn: ActiveRecord {
        static var columns: [Column<ComputedColumn>] { [Column(\.twice, named: "x")] }
        var objectId: Int64?
        var rank = 0
        var twice: Int { rank * 2 }
    }
    private struct CaseOfNumber: ActiveRecord {
        static var columns: [Column<CaseOfNumber>] { [Column(\.rank, ignoresCase: true)] }
        var objectId: Int64?
        var rank = 0
    }

    private struct DateOfNumber: ActiveRecord {
        static var columns: [Column<DateOfNumber>] { [Column(\.rank, dates: .iso8601)] }
        var objectId: Int64?
        var rank = 0
    }

    private static func refused<Record: ActiveRecord>(
        _ type: Record.Type, naming terms: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        do throws(ActiveObjectError) {
            _ = try Tables.table(of: type)
            Issue.record("\(type) was accepted", sourceLocation: sourceLocation)
        } catch {
            #expect(error.code == .badRecord, sourceLocation: sourceLocation)
            for term in terms + ["\(type)"] {
                #expect(error.message.contains(term), "\(error)", sourceLocation: sourceLocation)
            }
        }
    }

    @Test func `A type that cannot be a record causes an error with the reason`() {
        Self.refused(Object.self, naming: "struct")
        Self.refused(Choice.self, naming: "struct")
        Self.refused(WithTuple.self, naming: "WithTuple.pair", "(Int, Int)")
        Self.refused(WithClosure.self, naming: "WithClosure.action", "function")
        Self.refused(WithOptionalClosure.self, naming: "WithOptionalClosure.action")
        Self.refused(WithMetatype.self, naming: "WithMetatype.kind", "metatype")
        Self.refused(WithWeak.self, naming: "WithWeak.object", "weak")
        Self.refused(WithLazy.self, naming: "WithLazy.name", "lazy")
        Self.refused(WithClass.self, naming: "WithClass.object")
        Self.refused(WithExistential.self, naming: "WithExistential.value")
        Self.refused(WithOptionalTwice.self, naming: "WithOptionalTwice.value")
        Self.refused(WithWide.self, naming: "WithWide.value", "64 bits")
        Self.refused(WithUnsigned.self, naming: "WithUnsigned.value")
        Self.refused(WrongKey.self, naming: "objectId")
        Self.refused(TwoNames.self, naming: "RANK")
        Self.refused(SameNames.self, naming: "Rank")
        Self.refused(UnstoredInt.self, naming: "rank", "optional")
        Self.refused(ComputedColumn.self, naming: "not a stored property")
        Self.refused(CaseOfNumber.self, naming: "rank")
        Self.refused(DateOfNumber.self, naming: "rank")
    }

    @propertyWrapper struct Clamped: Codable, Equatable {
        var wrappedValue: Int
    }
    @propertyWrapper struct Boxed: Equatable {
        var wrappedValue: Int
    }
    private struct Wrapped: ActiveRecord, Equatable {
        var objectId: Int64?
        @Clamped var rank = 3
    }
    private struct WrappedBadly: ActiveRecord {
        var objectId: Int64?
        @Boxed var rank = 3
    }

    @Test func `A wrapped property is a column if its wrapper can be stored`() async throws {
        #expect(try Tables.table(of: Wrapped.self).fields.map(\.column) == ["objectId", "_rank"])
        try await Self.roundTrip(Wrapped(rank: 5))
        Self.refused(WrappedBadly.self, naming: "_rank")
    }
}
