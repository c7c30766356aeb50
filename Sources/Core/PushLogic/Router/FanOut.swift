import PushModel
import PushTime

/// The progress of a message through its devices. A page of devices is sent while the one after it is prepared: it is
/// looked up, and claimed if the message needs that.
///
/// The message is in the `ready` queue of its lane exactly while its current page has devices left.
struct FanOut {
    /// A device that nothing is sent to, and the outcome.
    struct Unsent {
        let device: DeviceID
        let token: Address?
        let outcome: DeliveryOutcome

        init(_ device: AudiencePage.Device, _ outcome: DeliveryOutcome) {
            self.init(device.id, token: device.token, outcome)
        }

        init(_ device: DeviceID, token: Address? = nil, _ outcome: DeliveryOutcome) {
            (self.device, self.token, self.outcome) = (device, token, outcome)
        }
    }

    /// The devices that were found: those to send to, and those that nothing is sent to. The latter are included only if
    /// they may have been counted before a restart; they are looked up with the claim of the others.
    struct FoundPage {
        var devices: [AudiencePage.Device] = []
        var unsent: [Unsent] = []
        /// The latest change of owners before they were looked up.
        let foundAt: UInt32

        var count: Int { devices.count + unsent.count }
    }

    /// The request for a page of the registry.
    struct PageQuery {
        let after: AudienceCursor?
        /// The number of devices that the lane counts as prepared during the request.
        let reserved: Int
        /// The latest change of owners when the page was requested.
        var askedAt: UInt32 = 0
        /// The retry state, if the request failed.
        var retry: PageRetryState?
    }

    /// The preparation of the page after the current one.
    enum Step {
        case idle
        /// The page is or will be requested from the registry.
        case paging(PageQuery)
        /// The claim of the page is or will be requested from the ledger.
        case claiming(FoundPage)
    }

    /// The point at which the search for devices continues.
    enum Source {
        case names(AudienceScan)
        case registry(after: AudienceCursor?)
        /// The message has expired. The page that is being prepared is the last one, and it is not sent.
        case abandoned
        /// All pages were found.
        case exhausted
    }

    private(set) var step = Step.idle
    private(set) var source: Source
    /// The page that is being sent, and the number of its devices that are done.
    private var current: [AudiencePage.Device] = []
    private var doneCount = 0
    /// The latest change of owners before its devices were looked up.
    private(set) var foundAt: UInt32 = 0
    /// The page after it, ready to be sent. It is empty while the current page is.
    private(set) var next: [AudiencePage.Device] = []
    private var nextFoundAt: UInt32 = 0

    /// - Parameter asksForNamed: Whether the registry is asked about devices that the audience names by their tokens.
    init(for audience: Audience, asksForNamed: Bool = false) {
        source =
            if case .tokens(let tokens) = audience, !asksForNamed {
                .names(AudienceScan(count: tokens.count))
            } else {
                .registry(after: nil)
            }
    }

    // MARK: State

    /// The devices of the current page that are not sent to.
    var rest: ArraySlice<AudiencePage.Device> { current[doneCount...] }
    /// The number of those devices.
    var left: Int { current.count - doneCount }

    /// Whether no page is being prepared, and more may exist.
    var canLookFurther: Bool {
        if case .idle = step { !isExhausted } else { false }
    }

    var isExhausted: Bool {
        if case .exhausted = source { true } else { false }
    }

    var isAbandoned: Bool {
        if case .abandoned = source { true } else { false }
    }

    /// Whether no device is left for a first attempt.
    var isAllDispatched: Bool {
        guard left == 0, next.isEmpty, isExhausted, case .idle = step else { return false }
        return true
    }

    /// The page that is requested from the registry.
    var pageQuery: PageQuery? {
        if case .paging(let query) = step { query } else { nil }
    }

    /// The page that is being claimed.
    var claiming: FoundPage? {
        if case .claiming(let page) = step { page } else { nil }
    }

    // MARK: The search

    /// Takes the scan of the named tokens, to be returned with ``putBack(_:)``. It is moved because its table would be
    /// copied if two places referred to it.
    mutating func takeScan() -> AudienceScan? {
        guard case .names(let scan) = source else { return nil }
        source = .exhausted
        return scan
    }

    mutating func putBack(_ scan: consuming AudienceScan) {
        source = scan.isComplete ? .exhausted : .names(scan)
    }

    /// Begins to request the next page from the registry.
    mutating func beginPage(reserving count: Int) {
        guard case .registry(let cursor) = source else { return }
        step = .paging(PageQuery(after: cursor, reserved: count))
    }

    mutating func asked(at change: UInt32) {
        guard case .paging(var query) = step else { return }
        query.askedAt = change
        step = .paging(query)
    }

    /// Records that the page request failed. Returns its retry state; nil if no page was requested.
    mutating func pageFailed(
        _ error: String, answers: UInt64, at now: MonotonicTime, backoff: Backoff
    ) -> PageRetryState? {
        guard case .paging(var query) = step else { return nil }
        var retry = query.retry ?? PageRetryState(answers: answers, at: now)
        retry.failed(error, answers: answers, at: now, backoff: backoff)
        query.retry = retry
        step = .paging(query)
        return retry
    }

    /// Ends the delay of a page request that failed together with others.
    mutating func retryPage(at now: MonotonicTime) {
        guard case .paging(var query) = step, query.retry?.failsAlone == false else { return }
        query.retry?.endDelay(at: now)
        step = .paging(query)
    }

    /// Ends the page request, answered or not. Returns it; nil if no page was requested.
    mutating func endPage() -> PageQuery? {
        guard case .paging(let query) = step else { return nil }
        step = .idle
        return query
    }

    /// Lets the search continue after a page of the registry. Returns false if the search was abandoned.
    mutating func continueSearch(after cursor: AudienceCursor?) -> Bool {
        if isAbandoned {
            source = .exhausted
            return false
        }
        source = cursor.map { .registry(after: $0) } ?? .exhausted
        return true
    }

    /// Ends the search: no further page is requested.
    mutating func endSearch() { source = .exhausted }

    /// Ends the search of an expired message. A page that is being prepared is awaited.
    mutating func abandonSearch() {
        if isExhausted { return }
        source = if case .idle = step { .exhausted } else { .abandoned }
    }

    mutating func beginClaim(of page: FoundPage) { step = .claiming(page) }

    /// Takes the page that was claimed; nil if none was.
    mutating func endClaim() -> FoundPage? {
        guard case .claiming(let page) = step else { return nil }
        step = .idle
        return page
    }

    // MARK: Pages

    /// Adds a page that is ready to be sent. Returns whether it is the current one; otherwise it is the next one.
    mutating func add(_ page: [AudiencePage.Device], foundAt: UInt32) -> Bool {
        if left > 0 {
            (next, nextFoundAt) = (page, foundAt)
            return false
        }
        (current, self.foundAt) = (page, foundAt)
        doneCount = 0
        return true
    }

    /// Records that this many more devices of the current page are done. Returns whether that was the whole page; then
    /// the next page, which may be empty, takes its place.
    mutating func finish(_ count: Int) -> Bool {
        doneCount += count
        if left > 0 { return false }
        (current, foundAt) = (next, nextFoundAt)
        doneCount = 0
        next = []
        return true
    }

    /// Removes the devices that are not sent to.
    mutating func removeRest() {
        current = []
        doneCount = 0
        next = []
    }
}
