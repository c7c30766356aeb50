/// The decisions of a cache about a request and its answer.
enum CacheDecision: Sendable, Equatable {
    /// The stored response serves.
    case serve
    /// The stored response serves, and is refreshed in the background.
    case serveAndRefresh
    /// The server is asked; if a response is stored, whether it has changed.
    case ask
    /// The server must not be asked.
    case refuse

    /// Decides how a request is answered.
    static func decide(
        _ freshness: Freshness?, request: HeaderFields, policy: CachePolicy
    ) -> CacheDecision {
        let wish = CacheControl(request["Cache-Control"])
        let mustNotAsk = policy == .onlyIfCached || wish.onlyIfCached
        guard let freshness, policy != .mustFetch, !wish.noCache, !wish.noStore else {
            return mustNotAsk ? .refuse : .ask
        }
        let isYoung = freshness.age <= wish.maxAge ?? .max && freshness.staleness < -(wish.minFresh ?? 0)
        if freshness.isFresh && isYoung { return .serve }
        if freshness.mayServeStale && freshness.age <= wish.maxAge ?? .max {
            if let allowed = wish.maxStale, freshness.staleness <= allowed { return .serve }
            if !mustNotAsk {
                if policy == .refreshInBackground { return .serveAndRefresh }
                if let window = freshness.control.staleWhileRevalidate, freshness.staleness <= window {
                    return .serveAndRefresh
                }
            }
        }
        return mustNotAsk ? .refuse : .ask
    }

    /// Returns whether a response may be stored. A redirect may not: it is the response of those requests alone that do
    /// not follow it.
    static func mayStore(_ response: Response, request: HeaderFields) -> Bool {
        let control = CacheControl(response.fields["Cache-Control"])
        guard response.status >= 200, response.status != 206, response.status != 304,
            !Redirect.statuses.contains(response.status), !control.noStore,
            !CacheControl(request["Cache-Control"]).noStore, response.redirects == 0,
            StoredResponse.varying(response.fields["Vary"], request: request) != nil
        else { return false }
        return control.maxAge != nil || response.fields["Expires"] != nil
            || Freshness.heuristicStatuses.contains(response.status)
    }

    /// Returns whether a response that is not stored takes the place of the stored one. That of a server that cannot
    /// answer now does not.
    static func isReplacement(_ response: Response) -> Bool {
        response.status < 500 && response.status != 408 && response.status != 429
    }

    /// Returns whether a stored response replaces the failure of the server.
    static func mayReplaceFailure(_ freshness: Freshness, request: HeaderFields) -> Bool {
        guard freshness.mayServeStale else { return false }
        if freshness.staleness < 0 { return true }
        let windows = [freshness.control.staleIfError, CacheControl(request["Cache-Control"]).staleIfError]
        return windows.contains { window in window.map { freshness.staleness <= $0 } ?? false }
    }
}
