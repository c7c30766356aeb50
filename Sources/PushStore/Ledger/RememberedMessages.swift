import PushLogic

/// Which message ids are remembered, and under which numbers.
struct RememberedMessages {
    /// By the id's fingerprint: the number of the first message with that id.
    private let firsts = FingerprintTable(hasValues: true)
    /// Further messages of an id, for other audiences. Few ids have any.
    private var later: [UInt64: LaterMessages] = [:]
    /// By id and audience: the number of the newest of those further messages.
    private let audiences = FingerprintTable(hasValues: true)
    /// How many of those further messages there are.
    private(set) var laterCount = 0

    /// What takes back one `addLater`.
    struct Added {
        fileprivate let fingerprint: UInt64
        fileprivate let audience: UInt64
        /// The newest of the further messages for that audience until then.
        fileprivate let earlier: UInt64?
    }

    var idCount: Int { firsts.count }
    var count: Int { firsts.count + laterCount }
    var byteCount: Int { firsts.byteCount + audiences.byteCount + 8 * laterCount }

    func first(of fingerprint: UInt64) -> UInt64? { firsts.value(of: fingerprint) }

    /// A further message of this id that may be for this audience: 64 bits of a hash say so.
    func later(of fingerprint: UInt64, for audience: UInt64) -> UInt64? {
        if audiences.count == 0 { return nil }
        return audiences.value(of: Self.key(fingerprint, audience))
    }

    private static func key(_ fingerprint: UInt64, _ audience: UInt64) -> UInt64 {
        fingerprint ^ (audience &* 0x9e37_79b9_7f4a_7c15)
    }

    /// The first message of an id that is not remembered.
    func addFirst(_ number: UInt64, of fingerprint: UInt64) { firsts.set(number, for: fingerprint) }

    func takeBackFirst(of fingerprint: UInt64) { firsts.remove(fingerprint) }

    /// A further message of an id that is remembered. Its number is higher than all others.
    mutating func addLater(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) -> Added {
        let earlier = later(of: fingerprint, for: audience)
        append(number, to: fingerprint, for: audience)
        return Added(fingerprint: fingerprint, audience: audience, earlier: earlier)
    }

    private mutating func append(_ number: UInt64, to fingerprint: UInt64, for audience: UInt64) {
        later[fingerprint, default: LaterMessages()].append(number)
        laterCount += 1
        let key = Self.key(fingerprint, audience)
        // A scheduled message that is read back may be older than what is known.
        if (audiences.value(of: key) ?? 0) < number { audiences.set(number, for: key) }
    }

    /// The last ones first.
    mutating func takeBack(_ added: Added) {
        later[added.fingerprint]?.removeLast()
        laterCount -= 1
        if later[added.fingerprint]?.count == 0 { later[added.fingerprint] = nil }
        let key = Self.key(added.fingerprint, added.audience)
        if let earlier = added.earlier { audiences.set(earlier, for: key) } else { audiences.remove(key) }
    }

    /// From now on this message is not remembered, and its id only if others have it.
    ///
    /// Of two messages with one audience, the later one may go before the first one does, which is only so where the
    /// first one has waited for longer than the window: the same envelope once more is then accepted, and finds that its
    /// devices had it.
    mutating func remove(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) {
        let isFirst = firsts.value(of: fingerprint) == number
        if later.isEmpty, audiences.count == 0 {
            if isFirst { firsts.remove(fingerprint) }
            return
        }
        let key = Self.key(fingerprint, audience)
        if audiences.value(of: key) == number { audiences.remove(key) }
        guard let second = later[fingerprint]?.first else {
            if isFirst { firsts.remove(fingerprint) }
            return
        }
        if isFirst { firsts.set(second, for: fingerprint) }
        if later[fingerprint]?.remove(isFirst ? second : number) == true { laterCount -= 1 }
        if later[fingerprint]?.count == 0 { later[fingerprint] = nil }
    }

    // MARK: Reading them back

    func reserve(_ count: Int) { firsts.reserve(count) }

    /// From a row of keys: those come in the order of their numbers.
    mutating func recall(_ number: UInt64, of fingerprint: UInt64, for audience: UInt64) {
        guard let first = firsts.add(number, for: fingerprint), first < number else { return }
        append(number, to: fingerprint, for: audience)
    }

    /// From a scheduled message, after all rows of keys: it may stand in them, or be older than all of them.
    /// `audienceOfFirst` tells for whom the message is that was the first until now.
    mutating func recallScheduled(
        _ number: UInt64, of fingerprint: UInt64, for audience: UInt64,
        audienceOfFirst: (UInt64) throws(StoreError) -> UInt64?
    ) throws(StoreError) {
        guard let first = firsts.add(number, for: fingerprint), first != number else { return }
        if later[fingerprint]?.contains(number) ?? false { return }
        if number > first { return append(number, to: fingerprint, for: audience) }
        firsts.set(number, for: fingerprint)
        if let audience = try audienceOfFirst(first) { append(first, to: fingerprint, for: audience) }
    }

    /// After all were read back. The first messages of ids with several, ascending.
    mutating func finishRecalling() -> [UInt64] {
        laterCount = 0
        for fingerprint in Array(later.keys) {
            later[fingerprint]?.sort()
            laterCount += later[fingerprint]?.count ?? 0
        }
        return later.keys.compactMap { firsts.value(of: $0) }.sorted()
    }
}
