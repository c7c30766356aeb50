import Glibc
import PushLoop
import PushText
import PushThread

/// Output for people: plain text, with colors only on a terminal.
struct Terminal: Sendable {
    static let output = Terminal(descriptor: 1)
    static let error = Terminal(descriptor: 2)

    private let descriptor: Int32
    private let hasColors: Bool
    /// Whether the output is a terminal, on which a line can be overwritten.
    let isInteractive: Bool

    init(descriptor: Int32) {
        self.descriptor = descriptor
        isInteractive = isatty(descriptor) == 1
        hasColors = isInteractive && getenv("NO_COLOR") == nil
    }

    /// The first error of the standard output. It is nil if the reader closed its end, as `head` does when it has read
    /// enough.
    private static let outputFault = Locked<SystemError?>(nil)

    /// Returns the exit status of a verb that ended with `code`: it has failed if what it printed was not written.
    static func status(_ code: ExitCode) -> ExitCode {
        guard let fault = outputFault.withLock({ $0 }) else { return code }
        error.write("carillon: cannot write the standard output: \(fault)\n")
        return code == .done ? .failed : code
    }

    /// Writes the whole text. Returns false if writing fails, for example because the reader closed its end.
    @discardableResult
    func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let fault = SystemError.current
                if fault.number == EINTR { continue }
                if descriptor == 1, fault.number != EPIPE {
                    Self.outputFault.withLock { $0 = $0 ?? fault }
                }
                return false
            }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    enum Color: Int {
        case red = 31
        case green = 32
        case yellow = 33
        case dim = 2
        case bold = 1
    }

    func colored(_ text: String, in color: Color) -> String {
        hasColors ? "\u{1b}[\(color.rawValue)m\(text)\u{1b}[0m" : text
    }

    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// The number of columns; nil if the output is not a terminal.
    var width: Int? {
        guard isInteractive else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return 80 }
        return Int(size.ws_col)
    }

    /// Returns rows under a heading with aligned columns; ``TableLayout`` wraps them on a narrow terminal.
    ///
    /// - Parameter color: Returns the color of a cell, given its column and text.
    func table(_ heading: [String], rows: [[String]], color: (Int, String) -> Color? = { _, _ in nil }) -> String {
        TableLayout(heading, rows: rows, width: width).text(paintHeading: { colored($0, in: .dim) }) {
            column, cell, piece in
            color(column, cell).map { colored(piece, in: $0) } ?? piece
        }
    }

    /// Returns text wrapped at the width of the terminal, with the second and further lines indented to where the text
    /// begins on the first line.
    ///
    /// - Parameter indent: The number of columns before the text on the first line.
    func hanging(_ text: String, indent: Int, paint: (String) -> String = { $0 }) -> String {
        guard let width else { return paint(text) }
        return Self.hanging(text, indent: indent, width: width, paint: paint)
    }

    /// Returns a text of the help, which is wrapped at 80 columns if the output is not a terminal.
    func help(_ text: String, indent: Int) -> String {
        Self.hanging(text, indent: indent, width: width ?? 80) { $0 }
    }

    private static func hanging(_ text: String, indent: Int, width: Int, paint: (String) -> String) -> String {
        guard indent + WrappedText.length(of: text) > width else { return paint(text) }
        let lines = WrappedText.lines(text, width: max(20, width - indent))
        return lines.map(paint).joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
