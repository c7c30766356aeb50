import PushRandom
import Receipts
import TestSupport
import TestTraits
import Testing

@Suite struct MutationTests {
    @Test("A random change of genuine data is never accepted, whatever it is", arguments: 0..<8 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        let vectors = StoreVectors()
        let verifier = try vectors.verifier()
        let genuine = Array(try vectors.signer.sign(vectors.transaction()).utf8)
        _ = try verifier.transaction(String(decoding: genuine, as: UTF8.self))
        var random = SeededRandom(seed: seed)
        for _ in 0..<RunKind.rounds(2000) {
            var text = genuine
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: text[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: text[position] = UInt8.random(in: 0...255, using: &random)
                case 2: text.remove(at: position)
                case 3: text.insert(UInt8.random(in: 0...255, using: &random), at: position)
                default: text.removeSubrange(position..<min(text.count, position + 40))
                }
            }
            if text == genuine { continue }
            let changed = String(decoding: text, as: UTF8.self)
            #expect(refusal { try verifier.verify(changed) } != nil, "accepted: \(changed)")
        }
    }

    @Test("A random change in a certificate never leads to another accepted chain", arguments: 0..<4 as Range<UInt64>)
    func certificates(seed: UInt64) throws {
        let vectors = StoreVectors()
        let verifier = try vectors.verifier()
        var random = SeededRandom(seed: seed)
        for _ in 0..<RunKind.rounds(300) {
            var chain = vectors.signer.chain
            let which = Int.random(in: 0..<2, using: &random)
            let position = Int.random(in: 0..<chain[which].count, using: &random)
            chain[which][position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let text = try vectors.signer.sign(vectors.transaction(), header: vectors.signer.header(chain: chain))
            #expect(refusal { try verifier.transaction(text) } != nil)
        }
    }
}
