import PushTime

/// The messages whose devices could not be looked up or claimed yet.
struct PendingLookUps {
    /// Messages whose request for a page or a claim failed or could not be sent yet.
    var pages: [MessageHandle] = []
    var claims: [MessageHandle] = []
    /// The time at which the first of ``pages`` is requested again; nil means at once.
    var pagesAt: MonotonicTime?
    /// The last error of the registry until it answers again, and the number of its answers.
    var trouble: String?
    var answers: UInt64 = 0
    /// The first few messages whose page request fails although the registry answers other requests.
    var failingAlone: [MessageHandle] = []
}
