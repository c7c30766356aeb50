import Glibc

/// What people read: plain text, in colours on a terminal only.
struct Terminal: Sendable {
    static let output = Terminal(descriptor: 1)
    static let error = Terminal(descriptor: 2)

    private let descriptor: Int32
    private let hasColours: Bool
    /// Whether somebody sits before it, who can be shown a line that changes.
    let isInteractive: Bool

    init(descriptor: Int32) {
        self.descriptor = descriptor
        isInteractive = isatty(descriptor) == 1
        hasColours = isInteractive && getenv("NO_COLOR") == nil
    }

    /// False once nobody reads it any more.
    @discardableResult
    func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                return false
            }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    enum Colour: Int {
        case red = 31
        case green = 32
        case yellow = 33
        case dim = 2
        case bold = 1
    }

    func coloured(_ text: String, _ colour: Colour) -> String {
        hasColours ? "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m" : text
    }

    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Rows under a heading, columns aligned. `colour` may colour a cell once its width is settled.
    func table(_ heading: [String], _ rows: [[String]], colour: (Int, String) -> Colour? = { _, _ in nil }) -> String {
        var widths = heading.map(\.count)
        for row in rows {
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
        }
        func line(_ cells: [String], _ paint: (Int, String) -> String) -> String {
            let padded = cells.enumerated().map { column, cell in
                paint(column, column == cells.count - 1 ? cell : Self.padded(cell, to: widths[column]))
            }
            return "  " + padded.joined(separator: "  ")
        }
        let head = line(heading) { coloured($1, .dim) }
        let body = rows.map { row in
            line(row) { column, text in colour(column, row[column]).map { coloured(text, $0) } ?? text }
        }
        return ([head] + body).joined(separator: "\n") + "\n"
    }
}
