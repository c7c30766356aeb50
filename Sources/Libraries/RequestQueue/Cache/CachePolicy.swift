/// The part that stored responses play in a call.
public enum CachePolicy: Sendable, Equatable, CaseIterable {
    /// A stored response serves while it is fresh, or while the server permits stale ones; else the server is asked.
    case cachedIfFresh
    /// A stored response serves at once, even a stale one, and is refreshed in the background if it is stale. Without
    /// one, or if the server demands validation, the server is asked.
    case refreshInBackground
    /// The server is asked in any case. It may answer that the stored response is still right. If it fails, the stored
    /// response does not serve.
    case mustFetch
    /// A fresh stored response serves; else the call fails with ``RequestError/Code/notCached``.
    case onlyIfCached
}

/// A response, and where it came from.
public struct CachedResponse: Sendable, Equatable {
    /// The sources of a response.
    public enum Source: Sendable, Equatable {
        /// The server sent it.
        case network
        /// It was stored, and is fresh.
        case cache
        /// It was stored, and the server confirmed it.
        case validated
        /// It was stored, and is stale: it is being refreshed in the background, or the server has failed.
        case stale
    }

    /// The response. One that was stored has a field `Age`.
    public var response: Response
    /// Where it came from.
    public var source: Source
}

/// What a cache has for a request.
public enum CacheState: Sendable, Equatable {
    /// No stored response matches.
    case absent
    /// A stored response of this age may be used.
    case fresh(age: Duration)
    /// A stored response of this age must be validated or refreshed.
    case stale(age: Duration)
}

/// The bounds of a cache. The responses that were not used for the longest time are removed first.
public struct CacheBounds: Sendable, Equatable {
    /// The bytes in memory.
    public var memoryBytes: Int
    /// The bytes on disk.
    public var diskBytes: Int
    /// The largest response that is stored.
    public var maxEntryBytes: Int

    /// Creates bounds.
    public init(memoryBytes: Int = 16 << 20, diskBytes: Int = 128 << 20, maxEntryBytes: Int = 4 << 20) {
        self.memoryBytes = max(0, memoryBytes)
        self.diskBytes = max(0, diskBytes)
        self.maxEntryBytes = max(0, maxEntryBytes)
    }
}
