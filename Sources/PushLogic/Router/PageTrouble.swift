import PushTime

/// The retry state of a page request that failed.
struct PageTrouble {
    var failures = 0
    /// The number of failures in a row between which the registry answered other requests.
    var failuresAlone = 0
    /// The number of answers that the registry had given by the last failure.
    var answers: UInt64
    var askAgainAt: MonotonicTime
    var text: String

    /// Whether the request itself fails, and not the registry. A single failure may be a coincidence: the answer in
    /// between may have been under way already.
    var isItsOwn: Bool { failuresAlone >= 2 }
}
