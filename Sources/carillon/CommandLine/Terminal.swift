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

    /// The number of columns; nil if this is not a terminal.
    var width: Int? {
        guard isInteractive else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return 80 }
        return Int(size.ws_col)
    }

    /// Rows under a heading, columns aligned; `TableLayout` says what becomes of them on a narrow terminal. `colour` may
    /// colour a cell once its width is settled.
    func table(_ heading: [String], _ rows: [[String]], colour: (Int, String) -> Colour? = { _, _ in nil }) -> String {
        TableLayout(heading, rows: rows, width: width).text(paintHeading: { coloured($0, .dim) }) {
            column, cell, piece in
            colour(column, cell).map { coloured(piece, $0) } ?? piece
        }
    }

    /// Text behind something that stands before its first line, broken where the terminal ends, each further line
    /// beginning below the first one's text.
    ///
    /// - Parameter indent: the columns that are taken before the text.
    func hanging(_ text: String, indent: Int, paint: (String) -> String = { $0 }) -> String {
        guard let width, indent + WrappedText.length(of: text) > width else { return paint(text) }
        let lines = WrappedText.lines(text, width: max(20, width - indent))
        return lines.map(paint).joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
