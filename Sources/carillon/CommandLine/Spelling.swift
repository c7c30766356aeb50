enum Spelling {
    /// The known word that a misspelt one was probably meant to be; nil when none is near.
    static func nearest(to word: String, in known: [String]) -> String? {
        let scored = known.map { (word: $0, distance: distance(Array(word), Array($0))) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, min(3, best.word.count / 2)) ? best.word : nil
    }

    /// Insertions, deletions and replacements that turn one into the other (Levenshtein).
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (i, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (character == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
