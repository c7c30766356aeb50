/// The stored responses by their tags.
struct TagIndex: Sendable {
    private var keys: [String: Set<CacheKey>] = [:]
    private var tags: [CacheKey: Set<String>] = [:]

    /// Returns the responses that have a tag.
    func keys(tagged tag: String) -> Set<CacheKey> { keys[tag] ?? [] }

    /// Replaces the tags of a response.
    mutating func set(_ new: Set<String>, of key: CacheKey) {
        remove(key)
        guard !new.isEmpty else { return }
        tags[key] = new
        for tag in new { keys[tag, default: []].insert(key) }
    }

    mutating func remove(_ key: CacheKey) {
        for tag in tags.removeValue(forKey: key) ?? [] {
            keys[tag]?.remove(key)
            if keys[tag]?.isEmpty ?? false { keys[tag] = nil }
        }
    }
}
