import PushLoop
import PushText
import PushTime

/// The line on a terminal that shows how far a verb has come, and how long it still takes.
final class ProgressLine: Sendable {
    private let isShown: Bool
    private let began = MonotonicTime.current()
    private let shown = Locked<MonotonicTime?>(nil)

    init(isShown: Bool = true) {
        self.isShown = isShown && Terminal.error.isInteractive
    }

    /// Shows what is done, at most five times a second.
    ///
    /// - Parameter share: how much of all is done, from 0 to 1; nil if it is not known.
    func show(_ text: @autoclosure () -> String, share: Double?) {
        guard isShown else { return }
        let now = MonotonicTime.current()
        let isDue = shown.withLock { last in
            if let time = last, now - time < .milliseconds(200) { return false }
            last = now
            return true
        }
        if isDue { Terminal.error.write("\r\u{1b}[K" + Self.text(text(), share: share, after: now - began)) }
    }

    /// Shows how many bytes of a file are done.
    func show(_ action: String, file: String, done: Int, of all: Int) {
        show(
            "\(action) \(file): \(done >> 20) of \(all >> 20) MiB",
            share: all > 0 ? Double(done) / Double(all) : nil)
    }

    func clear() {
        if isShown { Terminal.error.write("\r\u{1b}[K") }
    }

    static func text(_ text: String, share: Double?, after elapsed: Duration) -> String {
        guard let share, share > 0, share <= 1 else { return text }
        let percent = "\(text)  \(Int(share * 100)) %"
        // The first moments say nothing about the rest.
        guard elapsed >= .seconds(1), share < 1 else { return percent }
        let left = elapsed / .seconds(1) / share * (1 - share)
        guard left < 1e9 else { return percent }
        return "\(percent)  \(DurationText.age(Int64(left.rounded(.up)))) left"
    }
}
