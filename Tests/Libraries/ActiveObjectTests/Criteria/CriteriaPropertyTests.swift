import ActiveObject
import TestSupport
import TestTraits
import Testing

@Suite struct CriteriaPropertyTests {
    @Test(arguments: [1, 2, 3] as [UInt64]) func `A criterion matches the same records as the filter in Swift`(
        seed: UInt64
    ) async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var random = SeededRandom(seed: seed)
                var samples = (0..<300).map { _ in Sample.random(&random) }
                try samples.saveAll(in: transaction)
                for _ in 0..<RunKind.rounds(300) {
                    let one = RandomCriteria.tree(depth: Int.random(in: 0...4, using: &random), using: &random)
                    let found = try Sample.find(where: one.criteria, in: transaction).map(\.objectId)
                    #expect(found == samples.filter(one.holds).map(\.objectId), "\(one.text)")
                    let count = try Sample.count(where: !one.criteria, in: transaction)
                    #expect(count == samples.count - found.count, "!\(one.text)")
                }
            }
        }
    }
}
