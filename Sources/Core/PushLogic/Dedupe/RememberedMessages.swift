/// The remembered message ids and the numbers of their messages.
package struct RememberedMessages: ~Copyable {
    /// The number of the first message with an id, by the id's fingerprint.
    private let firsts: FingerprintTable
    /// Further messages with the same id, for other audiences. Few ids have any.
    private var later: [UInt64: LaterMessages] = [:]
    /// The number of the newest further message, by id and audience.
    private let audiences: FingerprintTable
    /// The number of further messages.
    private(set) var laterCount = 0

    /// The state before one `addLater`, with which ``takeBack(_:)`` undoes it.
    struct Added {
        fileprivate let fingerprint: UInt64
        fileprivate let audience: UInt64
        /// The newest further message for this audience before the call.
        fileprivate let earlier: UInt64?
    }

    init(space: NumberSpace = .whole) {
        firsts = FingerprintTable(hasValues: true, space: space)
        audiences = FingerprintTable(hasValues: true, space: space)
    }

    package var idCount: Int { firsts.count }
    package var count: Int { firsts.count + laterCount }
    package var byteCount: Int { firsts.byteCount + audiences.byteCount + 8 * laterCount }

    func warm(_ fingerprints: some Sequence<UInt64>) { firsts.warm(fingerprints) }

    func first(of fingerprint: UInt64) -> UInt64? { firsts.value(of: fingerprint) }

    /// Returns the messages with this id, the first one first.
    func all(of fingerprint: UInt64) -> [UInt64] {
        guard let first = firsts.value(of: fingerprint) else { return [] }
        return [first] + (later[fingerprint]?.all ?? [])
    }

    /// Returns a further message with this id that may be for this audience. The hash has 64 bits, so the caller
    /// compares the stored key.
    func later(of fingerprint: UInt64, for audience: UInt64) -> UInt64? {
        if audiences.count == 0 { return nil }
        return audiences.value(of: Self.key(of: fingerprint, for: audience))
    }

    private static func key(of fingerprint: UInt64, for audience: UInt64) -> UInt64 {
        fingerprint ^ (audience &* 0x9e37_79b9_7f4a_7c15)
    }

    /// Adds the first message of an id that is not remembered.
    func addFirst(_ number: UInt64, of fingerprint: UInt64) { firsts.set(number, for: fingerprint) }

    /// Undoes an `addFirst`; does nothing if the message is not the first of its id.
    func takeBackFirst(_ number: UInt64, of fingerprint: UInt64) {
        if firsts.value(of: fingerprint) == number { firsts.remove(fingerprint) }
    }

    /// Adds a further message of a remembered id. Its number must be higher than all others.
    mutating func addLater(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) -> Added {
        let earlier = later(of: fingerprint, for: audience)
        append(number, to: fingerprint, for: audience)
        return Added(fingerprint: fingerprint, audience: audience, earlier: earlier)
    }

    private mutating func append(_ number: UInt64, to fingerprint: UInt64, for audience: UInt64) {
        later[fingerprint, default: LaterMessages()].append(number)
        laterCount += 1
        let key = Self.key(of: fingerprint, for: audience)
        // A scheduled message that is read back may be older than the known one.
        if (audiences.value(of: key) ?? 0) < number { audiences.set(number, for: key) }
    }

    /// Undoes an `addLater`. Several must be undone in reverse order.
    mutating func takeBack(_ added: Added) {
        later[added.fingerprint]?.removeLast()
        laterCount -= 1
        if later[added.fingerprint]?.count == 0 { later[added.fingerprint] = nil }
        let key = Self.key(of: added.fingerprint, for: added.audience)
        if let earlier = added.earlier { audiences.set(earlier, for: key) } else { audiences.remove(key) }
    }

    /// Forgets a message, and its id unless other messages have it.
    ///
    /// If two messages have the same audience, the later one can be forgotten before the first one, namely if the first
    /// waited for longer than the dedupe window. The same request is then accepted again, and its devices are
    /// suppressed as duplicates by their claims.
    mutating func remove(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) {
        let isFirst = firsts.value(of: fingerprint) == number
        if later.isEmpty, audiences.count == 0 {
            if isFirst { firsts.remove(fingerprint) }
            return
        }
        let key = Self.key(of: fingerprint, for: audience)
        if audiences.value(of: key) == number { audiences.remove(key) }
        guard let second = later[fingerprint]?.first else {
            if isFirst { firsts.remove(fingerprint) }
            return
        }
        if isFirst { firsts.set(second, for: fingerprint) }
        if later[fingerprint]?.remove(isFirst ? second : number) == true { laterCount -= 1 }
        if later[fingerprint]?.count == 0 { later[fingerprint] = nil }
    }

    // MARK: Restoring

    func reserve(_ count: Int) { firsts.reserve(count) }

    /// Restores a message from a row of keys. These come in the order of their numbers.
    mutating func recall(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) {
        guard let first = firsts.add(number, for: fingerprint), first < number else { return }
        append(number, to: fingerprint, for: audience)
    }

    /// Restores a scheduled message, after all rows of keys. It may be among them, or older than all of them.
    /// `audienceOfFirst` returns the audience of the message that was the first of its id until now.
    mutating func recallScheduled<Failure: Error>(
        _ number: UInt64, of fingerprint: UInt64, for audience: UInt64,
        audienceOfFirst: (UInt64) throws(Failure) -> UInt64?
    ) throws(Failure) {
        guard let first = firsts.add(number, for: fingerprint), first != number else { return }
        if later[fingerprint]?.contains(number) ?? false { return }
        if number > first { return append(number, to: fingerprint, for: audience) }
        firsts.set(number, for: fingerprint)
        if let audience = try audienceOfFirst(first) { append(first, to: fingerprint, for: audience) }
    }

    /// Finishes restoring. Returns the first message of each id that has several, in ascending order.
    mutating func finishRecalling() -> [UInt64] {
        laterCount = 0
        for fingerprint in Array(later.keys) {
            later[fingerprint]?.sort()
            laterCount += later[fingerprint]?.count ?? 0
        }
        return later.keys.compactMap { firsts.value(of: $0) }.sorted()
    }
}
