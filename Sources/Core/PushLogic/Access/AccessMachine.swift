package import PushModel
package import PushTime

/// Decides whether a request is allowed, from the facts that others have checked.
///
/// A request is heard by ``admit(_:from:at:)`` before its secret is checked, and judged by ``judge(_:at:)`` afterwards.
///
/// - A nonce serves once for a key within the window. If memory for nonces is short, the key that has most of them gives
///   up its oldest second; requests that were created until then are refused as `clock_skew`. No nonce is accepted
///   twice.
/// - Failures are counted for each address, IPv6 by its first 64 bits. An address with too many is refused unheard,
///   unless it used the named key successfully before: strangers behind the same proxy do not lock out the owner.
/// - Failures are also counted for each key. They change only the answer to failures, from 401 to 429, and their log:
///   nobody can lock out the owner of a key by guessing.
package struct AccessMachine: Sendable {
    package let policy: AccessPolicy
    private let startedAt: Int64
    private var failures: FailureTable
    private var indices: [APIKeyID: Int] = [:]
    private var slots: [KeySlot] = []
    private var nonces = NonceTable()

    /// The nonces that a request removes at most. It is more than one, so that the table becomes empty again.
    private static let shedLimit = 8

    /// Creates a machine without keys.
    ///
    /// - Parameters:
    ///   - startedAt: the second of the start. Keys that are older refuse requests that were created before it, because
    ///     an earlier process may have accepted them.
    ///   - seed: random words.
    package init(_ policy: AccessPolicy = AccessPolicy(), startedAt: UnixSeconds, seed: (UInt64, UInt64)) {
        self.policy = policy
        self.startedAt = startedAt.value
        failures = FailureTable(maxAddresses: policy.maxAddresses, key: seed)
    }

    /// The number of remembered nonces.
    package var nonceCount: Int { nonces.count }

    package func key(_ id: APIKeyID) -> APIKey? { indices[id].map { slots[$0].key } }

    // MARK: Keys

    /// Replaces the keys. Returns those whose rights have ended since the last report.
    package mutating func replaceKeys(_ keys: [APIKey], at now: WallTime) -> [APIKeyID] {
        var (slots, indices) = ([KeySlot](), [APIKeyID: Int]())
        var kept: Set<APIKeyID> = []
        for key in keys where kept.insert(key.id).inserted {
            // A key that was made by this process cannot have served an earlier one.
            let floor = key.createdAt.seconds > startedAt ? Int64.min : startedAt - 1
            var slot = self.indices[key.id].map { self.slots[$0] } ?? KeySlot(key, floor: floor)
            slot.key = key
            indices[key.id] = slots.count
            slots.append(slot)
        }
        var ended: [APIKeyID] = []
        for index in self.slots.indices where !kept.contains(self.slots[index].key.id) {
            if !self.slots[index].isEndReported { ended.append(self.slots[index].key.id) }
            // The nonces of a forgotten key serve nobody.
            self.slots[index].nonces.refuse(before: .max)
            self.slots[index].nonces.shed(limit: .max, from: &nonces)
        }
        (self.slots, self.indices) = (slots, indices)
        return ended + endedKeys(at: now)
    }

    /// Returns the keys whose rights have ended since the last report: revoked, expired, or after their overlap.
    package mutating func endedKeys(at now: WallTime) -> [APIKeyID] {
        var ended: [APIKeyID] = []
        for index in slots.indices {
            let isValid = slots[index].key.isValid(at: now)
            if !isValid, !slots[index].isEndReported { ended.append(slots[index].key.id) }
            slots[index].isEndReported = !isValid
        }
        return ended
    }

    /// Whether a key will end by itself, so that ``endedKeys(at:)`` must be asked from time to time.
    package var hasEnds: Bool { slots.contains { !$0.isEndReported && $0.key.endsAt != nil } }

    // MARK: Requests

    /// Returns the refusal of a request whose address has made too many failures, or nil if its secret is to be checked.
    package func admit(_ id: APIKeyID?, from address: IPAddress, at now: AccessTime) -> AccessRefusal? {
        let wait = failures.wait(address, policy.addressFailures, at: now.monotonic)
        guard wait > .zero else { return nil }
        let index = id.flatMap { indices[$0] }
        if let index, slots[index].knows(address) { return nil }
        return .tooMany(.tooManyFailures, key: index.map { slots[$0].key }, after: wait)
    }

    /// Decides about a request.
    package mutating func judge(_ request: CheckedRequest, at now: AccessTime) -> Result<Caller, AccessRefusal> {
        guard let index = request.key.flatMap({ indices[$0] }) else {
            if case .unusable(let reason) = request.evidence { return failure(reason, request, nil, now) }
            return failure(.unknownKey, request, nil, now)
        }
        let key = slots[index].key
        switch key.state(at: now.wall) {
        case .revoked, .replaced: return failure(.revokedKey, request, index, now)
        case .expired: return failure(.expiredKey, request, index, now)
        case .active, .rotated: break
        }
        let refusal: AccessRefusal?
        switch request.evidence {
        case .unusable(let reason):
            return failure(reason, request, index, now)
        case .bearer(let isAuthentic, let isProtected):
            guard key.allowsBearer else { return failure(.bearerNotAllowed, request, index, now) }
            guard isAuthentic else { return failure(.wrongSecret, request, index, now) }
            guard isProtected else { return failure(.bearerWithoutTLS, request, index, now) }
            refusal = key.allows(request.address) ? rated(index, now) : .forbidden(.addressNotAllowed, key: key)
        case .signature(let signature):
            guard signature.isAuthentic else { return failure(.wrongSignature, request, index, now) }
            switch signature.digest {
            case .none, .matches: break
            case .missing: return failure(.digestMissing, request, index, now)
            case .withoutBody: return failure(.digestWithoutBody, request, index, now)
            case .differs: return failure(.wrongDigest, request, index, now)
            }
            refusal =
                key.allows(request.address)
                ? serve(signature, index, now) : .forbidden(.addressNotAllowed, key: key)
        }
        if let refusal {
            // A client that sends one request again and again is treated like one that guesses.
            if refusal.code == .replayed {
                failures.take(request.address, policy.addressFailures, at: now.monotonic)
            }
            return .failure(refusal)
        }
        slots[index].befriend(request.address)
        return .success(Caller(key))
    }

    private mutating func failure(
        _ reason: AccessReason, _ request: CheckedRequest, _ index: Int?, _ now: AccessTime
    ) -> Result<Caller, AccessRefusal> {
        failures.take(request.address, policy.addressFailures, at: now.monotonic)
        guard let index else { return .failure(.unauthenticated(reason)) }
        let wait = slots[index].failures.wait(policy.keyFailures, at: now.monotonic)
        slots[index].failures.take(policy.keyFailures, at: now.monotonic)
        let key = slots[index].key
        return .failure(
            wait > .zero ? .tooMany(.tooManyFailures, key: key, after: wait) : .unauthenticated(reason, key: key))
    }

    /// Takes a request from the rate of its key. Returns the refusal if there is none left.
    private mutating func rated(_ index: Int, _ now: AccessTime) -> AccessRefusal? {
        guard let limit = slots[index].rate else { return nil }
        let wait = slots[index].requests.wait(limit, at: now.monotonic)
        guard wait == .zero else { return .tooMany(.tooManyRequests, key: slots[index].key, after: wait) }
        slots[index].requests.take(limit, at: now.monotonic)
        return nil
    }

    /// Checks times and nonce of an authentic signature. The nonce is looked up before the rate, so that a copied request
    /// does not use up the rate of the owner, and stored after it, so that a refused request may be sent again.
    private mutating func serve(
        _ signature: CheckedRequest.Signature, _ index: Int, _ now: AccessTime
    ) -> AccessRefusal? {
        let key = slots[index].key
        let clock = now.wall.unixSeconds
        let window = max(0, policy.window.components.seconds)
        if let expires = signature.expires, expires <= clock.value {
            return .unauthenticated(.signatureExpired, key: key)
        }
        let (oldest, isBefore) = clock.value.subtractingReportingOverflow(window)
        let (newest, isAfter) = clock.value.addingReportingOverflow(window)
        guard !isBefore, !isAfter, let mark = signature.nonce else {
            return .clockSkew(key: key, serverTime: clock)
        }
        slots[index].nonces.refuse(before: oldest)
        slots[index].nonces.shed(limit: Self.shedLimit, from: &nonces)
        guard (oldest...newest).contains(signature.created), signature.created > slots[index].nonces.floor else {
            return .clockSkew(key: key, serverTime: clock)
        }
        if nonces.contains(mark) { return .replayed(key: key) }
        if let refusal = rated(index, now) { return refusal }
        if nonces.count >= max(1, policy.maxNonces) {
            makeRoom(for: index)
            // The second of this request may be the one that was given up.
            guard signature.created > slots[index].nonces.floor else { return .clockSkew(key: key, serverTime: clock) }
        }
        slots[index].nonces.insert(mark, created: signature.created, into: &nonces)
        return nil
    }

    /// Removes a nonce of the key with most of them.
    private mutating func makeRoom(for index: Int) {
        // A key below its share takes the place of the largest one. This look at all keys happens only at the bound.
        let share = policy.maxNonces / max(1, slots.count)
        var victim = index
        if slots[index].nonces.count <= share {
            for other in slots.indices where slots[other].nonces.count > slots[victim].nonces.count { victim = other }
        }
        if slots[victim].nonces.shed(limit: Self.shedLimit, from: &nonces) > 0 { return }
        slots[victim].nonces.refuseOldest()
        slots[victim].nonces.shed(limit: Self.shedLimit, from: &nonces)
    }
}
