import PushRandom
import TestTraits
import Testing

@testable import WebPush

@Suite struct OriginTableTests {
    @Test("The table finds what a dictionary finds, while numbers come and go", arguments: [1, 2, 3] as [UInt64])
    func walk(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = OriginTable(capacity: 32)
        var model: [Int: UInt64] = [:]
        for _ in 0..<RunKind.rounds(5000, long: 50_000) {
            let number = Int(random.next() % 32)
            if let hash = model[number] {
                #expect(table.find(hash) { $0 == number } == number)
                table.remove(number, hash: hash)
                model[number] = nil
                #expect(table.find(hash) { $0 == number } == nil)
            } else {
                // Few hashes, so that many of them collide.
                let hash = random.next() % 24
                table.insert(number, hash: hash)
                model[number] = hash
            }
            for (number, hash) in model where table.find(hash, where: { $0 == number }) != number {
                Issue.record("seed \(seed): \(number) is not found")
                return
            }
        }
    }
}
