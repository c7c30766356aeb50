import PushText
import TestSupport
import Testing

@testable import carillon

@Suite struct TableLayoutTests {
    private static let heading = ["accepted", "app", "message", "state", "sent"]
    private static let rows = [
        ["2026-01-01T00:00:02.000Z", "shop", "order-4711-shipped", "completed", "1"],
        ["-", "news", "b", "waiting", "0"],
    ]

    private static func text(_ heading: [String], _ rows: [[String]], width: Int?) -> String {
        TableLayout(heading, rows: rows, width: width).text { _, _, piece in piece }
    }

    @Test func `Without a terminal, each row is one line`() {
        #expect(
            Self.text(Self.heading, Self.rows, width: nil) == """
                  accepted                  app   message             state      sent
                  2026-01-01T00:00:02.000Z  shop  order-4711-shipped  completed  1
                  -                         news  b                   waiting    0

                """)
        #expect(Self.text(Self.heading, Self.rows, width: 80) == Self.text(Self.heading, Self.rows, width: nil))
    }

    @Test func `Columns that do not fit continue on another line of the row`() {
        #expect(
            Self.text(Self.heading, Self.rows, width: 60) == """
                  accepted                  app   message
                      state      sent
                  2026-01-01T00:00:02.000Z  shop  order-4711-shipped
                      completed  1
                  -                         news  b
                      waiting    0

                """)
    }

    @Test func `A cell that is wider than a line is wrapped between words`() {
        let fault = "the certificate cannot be opened: there is no such file at the place that is named"
        let text = Self.text(["app", "credential"], [["shop", fault]], width: 40)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 40 })
        #expect(text.split(whereSeparator: \.isWhitespace).joined(separator: " ") == "app credential shop \(fault)")
    }

    @Test(arguments: [20, 33, 40, 57, 80, 120])
    func `No text is lost and no line is too wide, for any width`(_ width: Int) {
        let rows = (0..<20).map { row in
            Self.heading.indices.map { String(repeating: "\(row % 10)", count: (row * 7 + $0 * 13) % 50 + 1) }
        }
        let text = Self.text(Self.heading, rows, width: width)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= max(width, 26) })
        let shown = text.filter { $0.isNumber }.count
        #expect(shown == rows.joined().reduce(0) { $0 + $1.count })
    }

    @Test func `Colors do not count for the width`() {
        #expect(WrappedText.length(of: "\u{1b}[31mred\u{1b}[0m rose") == 8)
        #expect(WrappedText.lines("a \u{1b}[31mred\u{1b}[0m rose", width: 6) == ["a \u{1b}[31mred\u{1b}[0m", "rose"])
    }

    @Test(arguments: [
        ("", 5, [""]), ("abc", 5, ["abc"]), ("abc def", 5, ["abc", "def"]), ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a  b", 2, ["a ", "b"]),
    ])
    func `Words are kept whole if possible`(_ text: String, _ width: Int, _ lines: [String]) {
        let found = WrappedText.lines(text, width: width)
        #expect(found.allSatisfy { $0.count <= width })
        #expect(found.joined().filter { $0 != " " } == lines.joined().filter { $0 != " " })
    }
}
