import PushLoop
import PushText
import PushTime

/// How much a table of a list shows: everything, or on a terminal only what its reader needs.
struct TableDetail: Sendable {
    static let option = Option("wide", about: "show whole times and ids, and all columns, on a terminal, too")

    let isShort: Bool
    private let now: WallTime

    init(isShort: Bool, now: WallTime) {
        self.isShort = isShort
        self.now = now
    }

    init(_ terminal: Terminal, _ arguments: Arguments) {
        self.init(isShort: terminal.width != nil && !arguments.has("wide"), now: .current())
    }

    /// Returns a time in UTC: today's without its date, and an earlier one without its seconds.
    func time(_ time: WallTime?) -> String {
        guard let time else { return "-" }
        let text = time.iso8601
        // The text of a year after 9999 is longer.
        guard isShort, text.utf8.count == 24 else { return text }
        let isToday = text.prefix(10) == now.iso8601.prefix(10)
        return isToday
            ? String(text.dropFirst(11).prefix(8)) : "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
    }

    /// Returns an id, or what is enough to tell it from others.
    func id(_ id: String) -> String { isShort ? String(id.prefix(8)) : id }

    /// Returns a table without the optional columns that say nothing in any row.
    func table(_ heading: [String], rows: [[String]], optional: Set<String>) -> (heading: [String], rows: [[String]]) {
        let kept = heading.indices.filter { column in
            !isShort || !optional.contains(heading[column])
                || rows.contains { column < $0.count && !["0", "-", "0/s"].contains($0[column]) }
        }
        return (kept.map { heading[$0] }, rows.map { row in kept.compactMap { $0 < row.count ? row[$0] : nil } })
    }
}
