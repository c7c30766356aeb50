import PushLoop
import PushModel

/// Why a PULL socket, which cannot answer `busy`, is not read.
struct PullHold {
    /// Requests from PULL that the ledger could not write. They are kept and retried, because no producer would send
    /// them again.
    var requests: [PushRequest] = []
    /// Whether these requests were handed to the ledger again. The socket stays paused until the ledger has replied.
    var isRetrying = false
    var isPaused = false
    /// Checks whether the socket can be read again.
    var timer: TimerID?

    /// The number of the requests, with those that belong to the same envelopes.
    var count: Int { requests.reduce(0) { $0 + $1.count } }
}
