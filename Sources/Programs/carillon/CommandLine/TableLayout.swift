import PushText

/// Lays out columns under a heading, within the width of the terminal if there is one.
///
/// If a table is wider than the terminal, no text is cut off, and the terminal does not have to wrap any line. Columns
/// that do not fit continue on further lines of the same row, indented and aligned under further lines of the heading. A
/// cell that is wider than a line is wrapped between words.
struct TableLayout {
    private static let margin = 2
    /// The indentation of the second and further lines of a row.
    private static let indentation = 6
    private static let gap = 2

    private let heading: [String]
    private let rows: [[String]]
    private let width: Int?
    /// The width of each column: that of its widest cell, but at most one line.
    private let widths: [Int]
    /// The columns on each line of a row.
    private let lines: [Range<Int>]

    /// - Parameter width: The width of the terminal; nil if the output is not a terminal and lines may have any length.
    init(_ heading: [String], rows: [[String]], width: Int?) {
        self.heading = heading
        self.rows = rows
        self.width = width
        let most = width.map { max(20, $0 - Self.indentation) } ?? .max
        var widths = heading.map { min($0.count, most) }
        for row in rows {
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], min(cell.count, most)) }
        }
        self.widths = widths
        lines = Self.flow(widths, within: width)
    }

    /// Returns the columns of each line: as many as fit, in their order.
    private static func flow(_ widths: [Int], within width: Int?) -> [Range<Int>] {
        guard let width else { return [0..<widths.count] }
        var lines: [Range<Int>] = []
        var start = 0
        var used = margin
        for (column, size) in widths.enumerated() {
            let needed = column == start ? size : gap + size
            if column > start, used + needed > width {
                lines.append(start..<column)
                start = column
                used = indentation + size
            } else {
                used += needed
            }
        }
        return lines + [start..<widths.count]
    }

    /// Returns the text of the table.
    ///
    /// - Parameters:
    ///   - paintHeading: Adds color to a piece of the heading.
    ///   - paint: Adds color to a piece of a cell, given its column and the whole cell.
    func text(
        paintHeading: (String) -> String = { $0 }, paint: (_ column: Int, _ cell: String, _ piece: String) -> String
    ) -> String {
        var text = row(heading) { _, _, piece in paintHeading(piece) }
        for cells in rows { text += row(cells, paint: paint) }
        return text
    }

    private func row(_ cells: [String], paint: (Int, String, String) -> String) -> String {
        var text = ""
        for (number, columns) in lines.enumerated() {
            let indent = number == 0 ? Self.margin : Self.indentation
            let pieces = columns.map { column in
                width == nil ? [cells[column]] : WrappedText.lines(cells[column], width: widths[column])
            }
            for line in 0..<(pieces.map(\.count).max() ?? 0) {
                // Empty pieces at the end of the line are left out.
                let last = pieces.lastIndex { line < $0.count } ?? 0
                var shown = String(repeating: " ", count: indent)
                for index in 0...last {
                    let column = columns.lowerBound + index
                    let piece = line < pieces[index].count ? pieces[index][line] : ""
                    let padded = index == last ? piece : Terminal.padded(piece, to: widths[column])
                    shown += (index == 0 ? "" : String(repeating: " ", count: Self.gap))
                    shown += paint(column, cells[column], padded)
                }
                text += shown + "\n"
            }
        }
        return text
    }
}
