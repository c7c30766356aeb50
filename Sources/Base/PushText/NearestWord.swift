/// Finds the known word that a misspelled word was probably meant to be.
package enum NearestWord {
    /// Returns the known word at an edit distance of at most two, ignoring case, `_` and `-`; nil if none is near.
    package static func to(_ word: String, in known: [String]) -> String? {
        guard word.utf8.count <= 40 else { return nil }
        let wanted = plain(word)
        var best: (word: String, distance: Int)?
        for candidate in known {
            let letters = plain(candidate)
            // For a short word two edits would change too much of it.
            let limit = letters.count < 5 ? 1 : 2
            let distance = distance(from: wanted, to: letters)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    private static func plain(_ word: String) -> [UInt8] {
        word.utf8.compactMap { byte in
            switch byte {
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "): nil
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            default: byte
            }
        }
    }

    /// Returns the edit distance: letters changed, added or omitted, and neighbors swapped.
    private static func distance(from one: [UInt8], to other: [UInt8]) -> Int {
        if abs(one.count - other.count) > 2 { return .max }
        var before: [Int] = []
        var row = Array(0...other.count)
        for i in 0..<one.count {
            var next = [i + 1]
            for j in 0..<other.count {
                var cost = min(row[j + 1] + 1, next[j] + 1, row[j] + (one[i] == other[j] ? 0 : 1))
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] { cost = min(cost, before[j - 1] + 1) }
                next.append(cost)
            }
            before = row
            row = next
        }
        return row[other.count]
    }
}
