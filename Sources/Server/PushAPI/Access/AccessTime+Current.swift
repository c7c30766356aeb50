package import PushLogic
import PushLoop
import PushTime

extension AccessTime {
    /// Reads both clocks.
    package static func current() -> AccessTime {
        AccessTime(wall: .current(), monotonic: .current())
    }
}
