/// One request to the server that any number of tasks wait for.
final class Flight: Sendable {
    let box = ResultBox<Result<CachedResponse, RequestError>>()
    let urlDigest: String
    let tags: Set<String>
    private let state = Locked(State())

    private struct State {
        var waiters = 0
        var isBackground = false
        var mayStore = true
        var task: Task<Void, Never>?
    }

    init(urlDigest: String, tags: Set<String>) {
        self.urlDigest = urlDigest
        self.tags = tags
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
        _ request: Request, stored: StoredResponse?, tags: Set<String>, isWaitedFor: Bool
    ) -> Flight {
        // Requests are identical if all of their fields are; credentials are among them.
        let fields = request.fields.all.map { "\($0.name.lowercased()): \($0.value)\n" }.sorted().joined()
        let name = CacheKey.digest("\(request.url.absoluteString)\n\(fields)".utf8, count: 32)
        if let flight = flights[name], flight.tags == tags {
            flight.join(isWaitedFor: isWaitedFor)
            return flight
        }
        let flight = Flight(urlDigest: CacheKey.digest(of: request.url), tags: tags)
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
            if flight.leave(), let name = flights.first(where: { $0.value === flight })?.key { flights[name] = nil }
            throw RequestError(.cancelled, message: "the wait for the response was cancelled")
        }
        return try result.get()
    }

    /// Lets a flight end without storing its answer; later requests start one of their own.
    func detach(_ flight: Flight, name: String) {
        flight.forbidStoring()
        flights[name] = nil
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
                // A 304 with another tag is about another response (RFC 9111, section 4.3.4).
                // Tags are compared weakly: a server marks that of a compressed answer, but not that of the 304.
                if let tag = response.fields["ETag"], Self.opaque(tag) != stored.fields["ETag"].map(Self.opaque) {
                    response = try await queue.send(request)
                } else {
                    stored.update(from: response, requestedAt: requestedAt, receivedAt: now())
                    stored.head.tags.formUnion(flight.tags)
                    if flight.mayStore { store(stored, request: request) }
                    return .success(answer(stored, request: request, source: .validated))
                }
            }
            if [500, 502, 503, 504].contains(response.status), let replaced = replacement(stored, request: request) {
                return .success(replaced)
            }
            take(response, request: request, flight: flight, requestedAt: requestedAt)
            return .success(CachedResponse(response: response, source: .network))
        } catch {
            if error.code != .cancelled, let replaced = replacement(stored, request: request) {
                return .success(replaced)
            }
            return .failure(error)
        }
    }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    private func replacement(_ stored: StoredResponse?, request: Request) -> CachedResponse? {
        guard let stored else { return nil }
        let freshness = Freshness(stored, now: now())
        guard CacheDecision.mayReplaceFailure(freshness, request: request.fields) else { return nil }
        return answer(stored, request: request, source: .stale)
    }

    private func take(_ response: Response, request: Request, flight: Flight, requestedAt: Int64) {
        guard flight.mayStore, CacheDecision.mayStore(response, request: request.fields),
            let varying = StoredResponse.varying(response.fields["Vary"], request: request.fields)
        else { return }
        let head = StoredResponse.Head(
            url: request.url.plain, status: response.status, fields: StoredResponse.flat(response.fields),
            varying: varying, tags: flight.tags, requestedAt: requestedAt, receivedAt: now())
        store(StoredResponse(head: head, body: response.body), request: request)
    }
}
