/// The age of a stored response, and how long it may be used (RFC 9111, section 4.2).
struct Freshness: Sendable, Equatable {
    /// The longest lifetime that is guessed from `Last-Modified`.
    private static let maxHeuristic: Int64 = 86_400

    /// The statuses that are stored without an explicit lifetime (RFC 9110, section 15.1), without redirects.
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 404, 405, 410, 414, 501]

    let control: CacheControl
    /// In seconds.
    let age: Int64
    /// In seconds.
    let lifetime: Int64

    init(_ stored: StoredResponse, now: Int64) {
        let fields = stored.fields
        control = CacheControl(fields["Cache-Control"])
        let received = stored.head.receivedAt / 1000
        let date = fields["Date"].flatMap(HTTPDate.seconds) ?? received
        let delay = max(0, stored.head.receivedAt - stored.head.requestedAt) / 1000
        let apparent = max(0, received - date)
        let named = (CacheControl.seconds(fields["Age"]) ?? 0) + delay
        // A clock that was set back makes the time of residence negative. Such a response is of unknown age.
        let resident = now / 1000 - received
        age = resident < -60 ? 1 << 32 : max(apparent, named) + max(0, resident)
        if let maxAge = control.maxAge {
            lifetime = maxAge
        } else if let expires = fields["Expires"] {
            // An invalid date, such as 0, is in the past.
            lifetime = HTTPDate.seconds(expires).map { max(0, $0 - date) } ?? 0
        } else if Self.heuristicStatuses.contains(stored.head.status),
            let changed = fields["Last-Modified"].flatMap(HTTPDate.seconds)
        {
            lifetime = min(Self.maxHeuristic, max(0, date - changed) / 10)
        } else {
            lifetime = 0
        }
    }

    /// The seconds since the response became stale; 0 or less if it is fresh.
    var staleness: Int64 { age - lifetime }

    /// Whether the response is fresh and needs no validation.
    var isFresh: Bool { staleness < 0 && !control.noCache }

    /// Whether the response may be used although it is stale.
    var mayServeStale: Bool { !control.noCache && !control.mustRevalidate }
}
