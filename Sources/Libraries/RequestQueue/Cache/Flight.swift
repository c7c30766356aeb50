/// One request to the server that any number of tasks wait for.
final class Flight: Sendable {
    /// What identical requests have in common: everything that has a part in their answers, and the tags of what is
    /// stored.
    struct Name: Hashable {
        /// The digest of the URL and of all fields; credentials are among them.
        let digest: String
        let tags: Set<String>
        let redirect: RedirectRule
        let retry: RetryRule
        let timeouts: Timeouts
        let maxResponseBytes: Int
        /// Whether a stored response does not replace a failure of the server.
        let mustConfirm: Bool

        init(_ request: Request, tags: Set<String>, mustConfirm: Bool) {
            let fields = request.fields.all.map { "\($0.name.lowercased()): \($0.value)\n" }.sorted().joined()
            digest = CacheKey.digest("\(request.url.absoluteString)\n\(fields)".utf8, count: 32)
            (redirect, retry, timeouts) = (request.redirect, request.retry, request.timeouts)
            maxResponseBytes = request.maxResponseBytes
            self.tags = tags
            self.mustConfirm = mustConfirm
        }
    }

    let box = ResultBox<Result<CachedResponse, RequestError>>()
    let name: Name
    let urlDigest: String
    /// The tags of the call, and those of the response that the answer confirms or replaces.
    let tags: Set<String>
    private let state = Locked(State())

    private struct State {
        var waiters = 0
        var isBackground = false
        var mayStore = true
        var task: Task<Void, Never>?
    }

    init(_ name: Name, urlDigest: String, replacing stored: StoredResponse?) {
        self.name = name
        self.urlDigest = urlDigest
        tags = name.tags.union(stored?.head.tags ?? [])
    }

    /// The tasks that wait for the answer.
    var waiterCount: Int { state.withLock { $0.waiters } }
    var mayStore: Bool { state.withLock { $0.mayStore } }

    /// Forbids to store the answer, because what it replaces was made invalid after the request.
    func forbidStoring() { state.withLock { $0.mayStore = false } }

    func setTask(_ task: Task<Void, Never>) { state.withLock { $0.task = task } }

    /// Adds a waiter, or the background, which waits to the end.
    func join(isWaitedFor: Bool) {
        state.withLock { state in
            if isWaitedFor { state.waiters += 1 } else { state.isBackground = true }
        }
    }

    /// Removes a waiter, and returns whether the request was cancelled because nobody waits for it any more.
    func leave() -> Bool {
        let task = state.withLock { state in
            state.waiters -= 1
            return state.waiters == 0 && !state.isBackground ? state.task : nil
        }
        task?.cancel()
        return task != nil
    }
}

extension ResponseCache {
    /// Returns the flight of a request, and starts it if there is none.
    func flight(
        _ request: Request, stored: StoredResponse?, tags: Set<String>, mustConfirm: Bool, isWaitedFor: Bool
    ) -> Flight {
        let name = Flight.Name(request, tags: tags, mustConfirm: mustConfirm)
        if let flight = flights[name] {
            flight.join(isWaitedFor: isWaitedFor)
            return flight
        }
        let flight = Flight(name, urlDigest: CacheKey.digest(of: request.url), replacing: stored)
        flight.join(isWaitedFor: isWaitedFor)
        flights[name] = flight
        flight.setTask(
            Task {
                let result = await fly(request, stored: stored, flight: flight)
                if flights[name] === flight { flights[name] = nil }
                flight.box.set(result)
            })
        return flight
    }

    /// Waits for a flight.
    func wait(for flight: Flight) async throws(RequestError) -> CachedResponse {
        let result = await flight.box.get()
        guard let result else {
            // A later request must not join a request that is being cancelled.
            if flight.leave(), flights[flight.name] === flight { flights[flight.name] = nil }
            throw RequestError(.cancelled, message: "the wait for the response was cancelled")
        }
        return try result.get()
    }

    /// Lets a flight end without storing its answer; later requests start one of their own.
    func detach(_ flight: Flight) {
        flight.forbidStoring()
        flights[flight.name] = nil
    }

    private func fly(
        _ request: Request, stored: StoredResponse?, flight: Flight
    ) async -> Result<CachedResponse, RequestError> {
        var conditional = request
        if let fields = stored?.fields {
            if let tag = fields["ETag"] { conditional.fields["If-None-Match"] = tag }
            if let date = fields["Last-Modified"] { conditional.fields["If-Modified-Since"] = date }
        }
        let requestedAt = now()
        do throws(RequestError) {
            var response = try await queue.send(conditional)
            if response.status == 304, var stored {
                if !Self.isAbout(stored, in: response) {
                    response = try await queue.send(request)
                } else {
                    stored.update(from: response, requestedAt: requestedAt, receivedAt: now())
                    stored.head.tags = flight.tags
                    if flight.mayStore { store(stored, request: request) }
                    return .success(answer(stored, request: request, source: .validated))
                }
            }
            if [500, 502, 503, 504].contains(response.status), !flight.name.mustConfirm,
                let replaced = replacement(stored, request: request)
            {
                return .success(replaced)
            }
            take(response, request: request, flight: flight, requestedAt: requestedAt, stored: stored)
            return .success(CachedResponse(response: response, source: .network))
        } catch {
            if error.code != .cancelled, !flight.name.mustConfirm,
                let replaced = replacement(stored, request: request)
            {
                return .success(replaced)
            }
            return .failure(error)
        }
    }

    /// Returns whether a 304 is about a stored response (RFC 9111, section 4.3.4), and not about one with another tag or
    /// at the URL of a redirect.
    private static func isAbout(_ stored: StoredResponse, in response: Response) -> Bool {
        guard response.redirects == 0 else { return false }
        // Tags are compared weakly: a server marks that of a compressed answer, but not that of the 304.
        guard let tag = response.fields["ETag"] else { return true }
        return opaque(tag) == stored.fields["ETag"].map(opaque)
    }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    private func replacement(_ stored: StoredResponse?, request: Request) -> CachedResponse? {
        guard let stored else { return nil }
        let freshness = Freshness(stored, now: now())
        guard CacheDecision.mayReplaceFailure(freshness, request: request.fields) else { return nil }
        return answer(stored, request: request, source: .stale)
    }

    private func take(
        _ response: Response, request: Request, flight: Flight, requestedAt: Int64, stored: StoredResponse?
    ) {
        guard flight.mayStore else { return }
        guard CacheDecision.mayStore(response, request: request.fields),
            let varying = StoredResponse.varying(response.fields["Vary"], request: request.fields)
        else {
            // The stored response would otherwise serve for ever where it is refreshed in the background.
            if let stored, CacheDecision.isReplacement(response) { discard(stored, request: request) }
            return
        }
        let head = StoredResponse.Head(
            url: request.url.plain, status: response.status, fields: StoredResponse.flat(response.fields),
            varying: varying, tags: flight.tags, requestedAt: requestedAt, receivedAt: now())
        store(StoredResponse(head: head, body: response.body), request: request)
    }
}
