import PushLoop
import PushTime

/// Logs a sentence when it differs from the one before, and otherwise at most once a minute. A database that cannot be
/// reached causes several of them in a second.
final class RepeatedWarning: Sendable {
    private struct Last {
        var text = ""
        var time = MonotonicTime(nanoseconds: 0)
    }

    private let log: Logger
    private let last = Locked(Last())

    init(_ log: Logger) {
        self.log = log
    }

    func report(_ text: String) {
        let now = MonotonicTime.current()
        let isDue = last.withLock { last in
            if last.text == text, now - last.time < .seconds(60) { return false }
            last = Last(text: text, time: now)
            return true
        }
        if isDue { log.warning("\(text)", [.event: "cluster.trouble"]) }
    }
}
