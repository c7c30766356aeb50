/// A place in a log of several parts: for each part, the number up to which events were taken.
///
/// A part that is not named is at its beginning, so that nothing is missed of a part that had no events before. On a
/// single node a place is one number. The text of a place is that number, or as in `3:17,5:90`.
package struct LogPosition: Sendable, Hashable, CustomStringConvertible {
    /// The numbers within the parts, by part. The last one is not 0.
    private var numbers: [UInt64] = []

    /// The beginning of all parts.
    package init() {}

    /// The place after an event, with all other parts at their beginning.
    package init(after number: UInt64) {
        let shown = EventNumber.shown(number)
        self[shown.part] = shown.number
    }

    /// The place after an event, with the other parts at their ends, so that only events of its part are after it.
    package init(onlyAfter number: UInt64, of partCount: Int) {
        self.init(after: number)
        guard partCount > 1 else { return }
        let part = EventNumber.shown(number).part
        for other in 0..<min(partCount, EventNumber.maxParts) where other != part {
            self[other] = EventNumber.maxWithin
        }
    }

    /// Creates a place from its text. Returns nil if the text is none, names a part twice, or a part or number that
    /// cannot be.
    package init?(_ text: some StringProtocol) {
        if let number = Self.number(text) {
            self[0] = number
            return
        }
        let entries = text.split(separator: ",", maxSplits: EventNumber.maxParts, omittingEmptySubsequences: false)
        guard entries.count <= EventNumber.maxParts else { return nil }
        var seen: Set<Int> = []
        for entry in entries {
            let pair = entry.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard pair.count == 2, let part = Self.number(pair[0]), part < UInt64(EventNumber.maxParts),
                let number = Self.number(pair[1]), number <= EventNumber.maxWithin, seen.insert(Int(part)).inserted
            else { return nil }
            self[Int(part)] = number
        }
    }

    private static func number(_ text: some StringProtocol) -> UInt64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt64(text),
            number <= UInt64(Int64.max)
        else { return nil }
        return number
    }

    /// The number within a part.
    package subscript(part: Int) -> UInt64 {
        get { numbers.indices.contains(part) ? numbers[part] : 0 }
        set {
            guard (0..<EventNumber.maxParts).contains(part) else { return }
            if newValue > 0 { while numbers.count <= part { numbers.append(0) } }
            guard part < numbers.count else { return }
            numbers[part] = newValue
            while numbers.last == 0 { numbers.removeLast() }
        }
    }

    /// The parts that are not at their beginning, ascending, with the numbers within them.
    package var parts: [(part: Int, number: UInt64)] {
        numbers.indices.compactMap { numbers[$0] > 0 ? (part: $0, number: numbers[$0]) : nil }
    }

    /// Whether it names no part but 0, so that it can be one number.
    package var isNumber: Bool { numbers.count <= 1 }

    /// Moves the place of one part behind an event, if it is before it.
    package mutating func raise(to number: UInt64) {
        let shown = EventNumber.shown(number)
        if self[shown.part] < shown.number { self[shown.part] = shown.number }
    }

    /// Moves each part to its place in another position, if that is further.
    package mutating func raise(to other: LogPosition) {
        for (part, number) in other.parts where self[part] < number { self[part] = number }
    }

    /// Whether any part is further than in another place.
    package func isAhead(of other: LogPosition) -> Bool {
        numbers.indices.contains { numbers[$0] > other[$0] }
    }

    package var description: String {
        isNumber ? "\(self[0])" : parts.map { "\($0.part):\($0.number)" }.joined(separator: ",")
    }
}
