public import Foundation

/// A private cache of responses (RFC 9111), in memory and on disk, before a ``RequestQueue``.
///
/// ```swift
/// let cache = try ResponseCache(directory: directory)
/// let answer = try await cache.send(.get(url), policy: .refreshInBackground, tags: ["catalog"])
/// await cache.invalidate(tag: "catalog")
/// ```
///
/// Only answers to GET are stored. Requests with different credentials never share a response. Identical requests at
/// the same time are one request to the server. Neither a redirect nor an answer that was redirected is stored.
public actor ResponseCache {
    let queue: RequestQueue
    private let bounds: CacheBounds
    private let clock: @Sendable () -> Int64
    private var memory: RecentList<CacheKey, StoredResponse>
    private var disk: DiskTier?
    /// The keys of the stored responses, by the digest of their URL.
    private var variants: [String: Set<CacheKey>] = [:]
    /// Nil until a tag is invalidated: only then are the tags of what is on disk read, once.
    private var tagged: TagIndex?
    var flights: [Flight.Name: Flight] = [:]

    /// The responses that one URL can have at the same time. A server that varies by more replaces the oldest.
    private static let maxVariants = 16

    /// Creates a cache. Without a directory, it is in memory only.
    public init(
        queue: RequestQueue = .shared, directory: URL? = nil, bounds: CacheBounds = CacheBounds()
    ) throws(RequestError) {
        try self.init(queue: queue, directory: directory, bounds: bounds) {
            Int64(Date().timeIntervalSince1970 * 1000)
        }
    }

    init(
        queue: RequestQueue, directory: URL?, bounds: CacheBounds, clock: @escaping @Sendable () -> Int64
    ) throws(RequestError) {
        self.queue = queue
        self.bounds = bounds
        self.clock = clock
        memory = RecentList(maxSize: bounds.memoryBytes)
        if let directory {
            let disk = try DiskTier(directory, maxBytes: bounds.diskBytes)
            for key in disk.keys { variants[key.url, default: []].insert(key) }
            self.disk = disk
        }
    }

    /// The bytes of the stored responses in memory.
    public var memoryBytes: Int { memory.size }

    /// The bytes of the stored responses on disk.
    public var diskBytes: Int { disk?.size ?? 0 }

    /// The number of URLs with stored responses.
    var storedURLs: Int { variants.count }

    /// Answers a request from the cache or by the server, as the policy says. Methods other than GET are sent, and make
    /// the stored responses of their URL invalid if they succeed.
    ///
    /// The tags of a response are those of all calls that have stored or confirmed it. Cancelling the task cancels the
    /// request unless other tasks wait for the same response.
    public func send(
        _ request: Request, policy: CachePolicy = .cachedIfFresh, tags: Set<String> = []
    ) async throws(RequestError) -> CachedResponse {
        guard Self.isCacheable(request) else { return try await pass(request) }
        let stored = lookUp(request)
        let freshness = stored.map { Freshness($0.response, now: clock()) }
        switch CacheDecision.decide(freshness, request: request.fields, policy: policy) {
        case .serve:
            if let stored, let freshness {
                let source: CachedResponse.Source = freshness.isFresh ? .cache : .stale
                return answer(stored.response, request: request, source: source)
            }
        case .serveAndRefresh:
            if let stored, let freshness {
                let isFresh = freshness.isFresh
                if !isFresh {
                    _ = flight(request, stored: stored.response, tags: tags, mustConfirm: false, isWaitedFor: false)
                }
                return answer(stored.response, request: request, source: isFresh ? .cache : .stale)
            }
        case .refuse:
            throw RequestError(
                .notCached,
                message: "there is no fresh stored response of \(request.url.plain), and the policy forbids a request")
        case .ask: break
        }
        return try await wait(
            for: flight(
                request, stored: stored?.response, tags: tags, mustConfirm: policy == .mustFetch, isWaitedFor: true))
    }

    /// Asks the server, and stores the answer.
    @discardableResult
    public func refresh(_ request: Request, tags: Set<String> = []) async throws(RequestError) -> CachedResponse {
        try await send(request, policy: .mustFetch, tags: tags)
    }

    /// Returns what is stored for a request.
    public func state(of request: Request) -> CacheState {
        guard let stored = lookUp(request) else { return .absent }
        let freshness = Freshness(stored.response, now: clock())
        let age = Duration.seconds(freshness.age)
        return freshness.isFresh ? .fresh(age: age) : .stale(age: age)
    }

    /// Removes the responses of a URL, for all credentials and variants. A request that is under way does not store its
    /// answer.
    public func invalidate(_ url: URL) {
        let digest = CacheKey.digest(of: url)
        for key in variants[digest] ?? [] { remove(key) }
        for flight in flights.values where flight.urlDigest == digest { detach(flight) }
    }

    /// Removes the responses that were stored with a tag. A request for one of them that is under way does not store
    /// its answer.
    public func invalidate(tag: String) {
        if tagged == nil { readTags() }
        let keys = tagged?.keys(tagged: tag) ?? []
        for key in keys { remove(key) }
        let urls = Set(keys.map(\.url))
        for flight in flights.values where flight.tags.contains(tag) || urls.contains(flight.urlDigest) {
            detach(flight)
        }
    }

    private func readTags() {
        var index = TagIndex()
        for key in variants.values.flatMap({ $0 }) {
            if let tags = head(of: key)?.tags {
                index.set(tags, of: key)
            } else {
                // A head that cannot be read is damaged, and its response would be read as absent.
                remove(key)
            }
        }
        tagged = index
    }

    /// Removes all responses.
    public func removeAll() {
        for key in variants.values.flatMap({ $0 }) { remove(key) }
        for flight in flights.values { detach(flight) }
    }

    private static func isCacheable(_ request: Request) -> Bool {
        // The caller of a conditional or partial request has a cache of its own.
        let own = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"]
        return request.method == .get && own.allSatisfy { request.fields[$0] == nil }
    }

    private func pass(_ request: Request) async throws(RequestError) -> CachedResponse {
        let response = try await queue.send(request)
        if !request.method.isSafe && (200...399).contains(response.status) {
            invalidate(request.url)
            for name in ["Location", "Content-Location"] {
                guard
                    let other = response.fields[name].flatMap({ URL(string: $0, relativeTo: request.url) })?
                        .absoluteURL,
                    Origin(other) == Origin(request.url)
                else { continue }
                invalidate(other)
            }
        }
        return CachedResponse(response: response, source: .network)
    }

    /// Returns the newest stored response that matches a request.
    private func lookUp(_ request: Request) -> (key: CacheKey, response: StoredResponse)? {
        let credentials = CacheKey.digest(ofCredentialsIn: request)
        var best: (key: CacheKey, response: StoredResponse)?
        for key in variants[CacheKey.digest(of: request.url)] ?? [] where key.credentials == credentials {
            guard let stored = use(key) ?? load(key) else { continue }
            if stored.matches(request.fields), stored.head.receivedAt > best?.response.head.receivedAt ?? .min {
                best = (key, stored)
            }
        }
        return best
    }

    private func use(_ key: CacheKey) -> StoredResponse? {
        guard let stored = memory.use(key) else { return nil }
        disk?.touch(key)
        return stored
    }

    private func load(_ key: CacheKey) -> StoredResponse? {
        guard let stored = disk?.load(key) else {
            forget(key)
            return nil
        }
        evict(memory.set(key, to: stored, size: stored.cost))
        return stored
    }

    func now() -> Int64 { clock() }

    /// Stores a response. One that is too large replaces what it would have replaced, by nothing.
    func store(_ stored: StoredResponse, request: Request) {
        let key = key(of: stored, request: request)
        var stored = stored
        // Whoever has stored it with a tag relies on it.
        if variants[key.url]?.contains(key) ?? false { stored.head.tags.formUnion(head(of: key)?.tags ?? []) }
        guard stored.cost <= bounds.maxEntryBytes else { return remove(key) }
        variants[key.url, default: []].insert(key)
        tagged?.set(stored.head.tags, of: key)
        let removed = memory.set(key, to: stored, size: stored.cost)
        evict(removed + (disk?.save(stored, key: key) ?? []))
        if let keys = variants[key.url], keys.count > Self.maxVariants {
            let times = keys.map { ($0, head(of: $0)?.receivedAt ?? 0) }
            if let oldest = times.min(by: { $0.1 < $1.1 })?.0 { remove(oldest) }
        }
    }

    /// Removes a stored response that the server has replaced by one that may not be stored.
    func discard(_ stored: StoredResponse, request: Request) { remove(key(of: stored, request: request)) }

    private func head(of key: CacheKey) -> StoredResponse.Head? { memory.peek(key)?.head ?? disk?.head(key) }

    private func key(of stored: StoredResponse, request: Request) -> CacheKey {
        CacheKey(
            url: CacheKey.digest(of: request.url), credentials: CacheKey.digest(ofCredentialsIn: request),
            variant: CacheKey.digest(of: stored.head.varying))
    }

    /// Returns a stored response with its age.
    func answer(
        _ stored: StoredResponse, request: Request, source: CachedResponse.Source
    ) -> CachedResponse {
        var fields = stored.fields
        fields["Age"] = "\(Freshness(stored, now: clock()).age)"
        let response = Response(
            status: stored.head.status, fields: fields, body: stored.body, url: request.url, attempts: 0)
        return CachedResponse(response: response, source: source)
    }

    private func remove(_ key: CacheKey) {
        memory.remove(key)
        disk?.remove(key)
        forget(key)
    }

    /// Forgets those of the keys that are neither in memory nor on disk.
    private func evict(_ keys: [CacheKey]) {
        guard let disk else { return keys.forEach { forget($0) } }
        for key in keys where !disk.has(key) { forget(key) }
    }

    private func forget(_ key: CacheKey) {
        guard memory.peek(key) == nil else { return }
        tagged?.remove(key)
        variants[key.url]?.remove(key)
        if variants[key.url]?.isEmpty ?? false { variants[key.url] = nil }
    }
}
