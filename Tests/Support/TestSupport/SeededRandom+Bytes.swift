// Most tests with random inputs use the generator, so this module re-exports it.
@_exported public import PushRandom

extension SeededRandom {
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            let word = next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Returns the bytes, changed with the given probability in one of the ways in which a hostile or broken peer may
    /// change them.
    package mutating func mutate(_ bytes: [UInt8], chance: Double) -> [UInt8] {
        guard !bytes.isEmpty, Double.random(in: 0..<1, using: &self) < chance else { return bytes }
        var result = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) where !result.isEmpty {
            let index = Int.random(in: 0..<result.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: result[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1: result[index] = UInt8.random(in: 0...255, using: &self)
            case 2: result.remove(at: index)
            case 3: result.insert(UInt8.random(in: 0...255, using: &self), at: index)
            case 4: result.removeLast(result.count - index)
            default:
                let end = min(result.count, index + Int.random(in: 1...64, using: &self))
                result.insert(contentsOf: Array(result[index..<end]), at: index)
            }
        }
        return result
    }
}
