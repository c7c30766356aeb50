import PushModel

/// The newest number of each part of the log that this process carries out.
struct OpenParts: Sendable {
    /// By part: the newest number within the part; nil for a part that is not open.
    private var newest: [UInt64?] = []

    /// The parts that are open, ascending, with the newest number within each.
    var all: [(part: Int, newest: UInt64)] {
        newest.indices.compactMap { part in newest[part].map { (part: part, newest: $0) } }
    }

    /// The sum of the newest numbers; on a single node, the newest number.
    var total: UInt64 { newest.reduce(0) { $0 &+ ($1 ?? 0) } }

    mutating func open(_ part: Int, newest number: UInt64) {
        while newest.count <= part { newest.append(nil) }
        newest[part] = max(newest[part] ?? 0, EventNumber.shown(number).number)
    }

    mutating func close(_ part: Int) {
        if part < newest.count { newest[part] = nil }
    }

    /// Raises the newest number of the number's part, if that is open.
    mutating func raise(to number: UInt64) {
        let shown = EventNumber.shown(number)
        guard shown.part < newest.count, let before = newest[shown.part], before < shown.number else { return }
        newest[shown.part] = shown.number
    }
}
