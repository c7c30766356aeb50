import Glibc
import PushLoop

/// How long a test has waited, in seconds of a machine that does nothing else.
///
/// There is one bound for everything that a test waits for. Only a hang reaches it, and it grows with the load: while ten
/// threads want each processor, ten seconds count as one. `Tools/lab/patience.py` counts in the same way.
package struct Patience: Sendable {
    /// The longest test takes about a third of it. The variable is for the tests of the bound itself.
    package static let bound: Duration = .seconds(
        getenv("CARILLON_WAIT_BOUND").flatMap { Double(String(cString: $0)) } ?? 300)

    /// A process that was stopped for longer than this has not waited all the time.
    private static let longestStep: Duration = .seconds(5)

    private var last = ContinuousClock.now
    private var spent: Duration = .zero

    package init() {}

    /// Counts the time since the last call, and returns true if the bound is reached. It must be called every second or
    /// so.
    package mutating func isExhausted() -> Bool {
        let now = ContinuousClock.now
        spent += min(now - last, Self.longestStep) / Self.load()
        last = now
        return spent >= Self.bound
    }

    /// The threads that run or want to run, for each processor, on the average of the last minute; at least 1.
    private static func load() -> Double {
        var averages = [0.0]
        guard getloadavg(&averages, 1) == 1 else { return 1 }
        return max(1, averages[0] / Double(max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))))
    }

    // MARK: Blocking calls

    /// Makes blocking calls on a socket return every second, so that ``persist(_:)`` can count.
    package static func prepare(_ descriptor: CInt) {
        var step = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &step, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &step, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Repeats a call on a blocking socket until it succeeds, fails, or has waited for too long; the error number is then
    /// EAGAIN. Linux also interrupts such a call when the process is stopped and continued.
    package static func persist(_ call: () -> Int) -> Int {
        var patience = Patience()
        while true {
            let result = call()
            if result >= 0 || (errno != EINTR && errno != EAGAIN) { return result }
            if patience.isExhausted() {
                errno = EAGAIN
                return -1
            }
        }
    }

    /// Describes the last error of a call: "wait ran out" is what `Tools/testing/run` looks for.
    static func fault(_ call: String) -> String {
        errno == EAGAIN ? "wait ran out: \(call)" : "\(call): errno \(errno)"
    }
}
