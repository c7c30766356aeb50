import PushLoop
import PushTime

/// The line on a terminal that shows how far a copy has come.
final class CopyScreen: Sendable {
    private let isShown: Bool
    private let shown = Locked<MonotonicTime?>(nil)

    init(isShown: Bool) {
        self.isShown = isShown && Terminal.error.isInteractive
    }

    func show(_ file: String, done: Int, of all: Int, doing action: String) {
        guard isShown else { return }
        let now = MonotonicTime.current()
        let isDue = shown.withLock { last in
            if let time = last, now - time < .milliseconds(200) { return false }
            last = now
            return true
        }
        if isDue { Terminal.error.write("\r\u{1b}[K\(action) \(file): \(done >> 20) of \(all >> 20) MiB") }
    }

    func clear() {
        if isShown { Terminal.error.write("\r\u{1b}[K") }
    }
}
