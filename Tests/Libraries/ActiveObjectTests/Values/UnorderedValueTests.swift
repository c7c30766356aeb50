import FoundationEssentials
import TestSupport
import Testing

@testable import ActiveObject

/// Values without an order, which JSON writes as lists: sets, and dictionaries whose keys are no names.
@Suite struct UnorderedValueTests {
    struct Visit: Codable, Hashable, Sendable {
        var places: Set<String> = []
        var by: [Date: Set<Int>] = [:]
    }
    private struct Trip: ActiveRecord {
        var objectId: Int64?
        var tags: Set<String> = []
        var groups: [String: Set<Set<Int>>] = [:]
        var names: [Date: String] = [:]
        var visits: [Visit] = []
        var last: Visit?
        var prices: Set<Decimal>?
    }

    private static let words = (0..<40).map { "w\($0)/\"" }
    private static let dates = (0..<40).map { Date(timeIntervalSince1970: Double($0) / 3) }

    /// Returns a trip whose values were built in another order than those of other seeds.
    private static func trip(seed: UInt64) -> Trip {
        var random = SeededRandom(seed: seed)
        func set<Element: Hashable>(_ elements: [Element]) -> Set<Element> {
            // Another capacity is another order of the hashes.
            var set = Set<Element>(minimumCapacity: Int.random(in: 0...5000, using: &random))
            for element in elements.shuffled(using: &random) { set.insert(element) }
            return set
        }
        func dictionary<Value>(_ value: (Int) -> Value) -> [Date: Value] {
            var dictionary = [Date: Value](minimumCapacity: Int.random(in: 0...5000, using: &random))
            for index in dates.indices.shuffled(using: &random) { dictionary[dates[index]] = value(index) }
            return dictionary
        }
        let names = dictionary { "n\($0)" }
        let some = (0..<9).map { Set([$0, $0 + 100, $0 + 200]) }
        let visit = Visit(places: set(words), by: [dates[1]: set(Array(0..<30)), dates[0]: []])
        return Trip(
            tags: set(words), groups: ["b": set(some), "a": []], names: names, visits: [visit, Visit()], last: visit,
            prices: set((0..<20).map { Decimal($0) / 8 }))
    }

    @Test func `Equal values are found and are no change, in whatever order they were built`() async throws {
        try await withFolder { folder in
            var id: Int64?
            for seed in UInt64(1)...4 {
                // Each time the file is opened, it has what another order has written.
                let database = try await Database.open(folder + "/test.db", name: nil)
                var trip = Self.trip(seed: seed)
                trip.objectId = id
                if id != nil { #expect(try await !trip.isDirty(in: database)) }
                try await trip.save(in: database)
                id = trip.objectId
                let other = Self.trip(seed: seed + 100)
                var same = other
                same.objectId = id
                #expect(try same.changes(from: trip).isEmpty)
                let criteria: [Criteria<Trip>] = [
                    \.tags == other.tags, \.groups == other.groups, \.names == other.names,
                    \.visits == other.visits, \.last == other.last, \.prices == other.prices,
                    .isIn(\.tags, values: [[], other.tags]),
                ]
                for one in criteria {
                    #expect(try await Trip.count(where: one, in: database) == 1)
                    #expect(try await Trip.count(where: !one, in: database) == 0)
                }
                let found = try #require(try await Trip.find(id ?? 0, in: database))
                #expect(found.tags == other.tags && found.names == other.names && found.last == other.last)
                #expect(found.groups == other.groups && found.prices == other.prices)
                await database.close()
            }
        }
    }

    /// A tree that counts how often each part of it is encoded.
    private final class Node: Encodable, Hashable {
        let children: Set<Node>
        private(set) var encodings = 0

        init(_ children: Set<Node> = []) { self.children = children }

        static func == (left: Node, right: Node) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

        func encode(to encoder: any Encoder) throws {
            encodings += 1
            var list = encoder.unkeyedContainer()
            try list.encode(children)
        }
    }

    @Test func `Nested sets of one element are encoded once`() throws {
        let leaf = Node()
        let tree = (0..<12).reduce(leaf) { node, _ in Node([node]) }
        #expect(try canonicalJSON(tree).count == 52)
        #expect(leaf.encodings == 1)
    }

    @Test func `The texts are those of JSON, with the elements in the order of their texts`() throws {
        let before = Trip()
        var after = before
        after.tags = ["b", "a", "a/c"]
        after.names = [Date(timeIntervalSinceReferenceDate: 7): "x", Date(timeIntervalSinceReferenceDate: 10): "y"]
        after.visits = [Visit(places: ["z", "y"])]
        after.prices = [3, 0.5]
        #expect(
            try after.changes(from: before).map(\.new) == [
                #"["a","a/c","b"]"#, #"[10,"y",7,"x"]"#, #"[{"by":[],"places":["y","z"]}]"#, "[0.5,3]",
            ])
    }
}
