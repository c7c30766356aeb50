import PushModel
import PushTime
import TestSupport

@testable import PushLogic

/// A machine with keys and clocks, for tests of single decisions.
struct AccessDesk {
    var machine: AccessMachine
    var wall: WallTime
    var monotonic = MonotonicTime(nanoseconds: 0)
    static let start = UnixSeconds(1_795_313_600)
    static let seed: (UInt64, UInt64) = (7, 9)

    var now: AccessTime { AccessTime(wall: wall, monotonic: monotonic) }

    init(_ policy: AccessPolicy = AccessPolicy(), keys: [APIKey] = [AccessDesk.key(1)]) {
        wall = WallTime(Self.start) + .seconds(1)
        machine = AccessMachine(policy, startedAt: Self.start, seed: Self.seed)
        _ = machine.replaceKeys(keys, at: wall)
    }

    static func id(_ number: Int) -> APIKeyID { APIKeyID(random: [0, 0, 0, 0, 0, 0, 0, UInt8(number & 31)]) }

    static func key(_ number: Int, rate: Int? = nil, expiresAt: WallTime? = nil) -> APIKey {
        APIKey(
            id: id(number), name: APIKeyName("key\(number)")!, roles: .everything,
            createdAt: WallTime(start) - .seconds(86_400), expiresAt: expiresAt, rate: rate)
    }

    mutating func wait(_ time: Duration) {
        wall = wall + time
        monotonic = monotonic + time
    }

    static func address(_ number: Int) -> IPAddress { IPAddress(high: 0, low: 0xffff_0a00_0000 | UInt64(number)) }

    /// Sends a signed request. Returns the reason of its refusal, or nil if it was allowed.
    mutating func send(
        _ nonce: Int, created: Int64? = nil, key: Int = 1, isAuthentic: Bool = true, from number: Int = 1
    ) -> AccessReason? {
        let address = Self.address(number)
        if let refusal = machine.admit(Self.id(key), from: address, at: now) { return refusal.reason }
        let mark = NonceHash(of: Array("nonce\(nonce)".utf8), key: Self.id(key), seed: Self.seed)
        let signature = CheckedRequest.Signature(
            isAuthentic: isAuthentic, created: created ?? wall.seconds, expires: nil, nonce: mark, digest: .none)
        let request = CheckedRequest(key: Self.id(key), address: address, evidence: .signature(signature))
        switch machine.judge(request, at: now) {
        case .success: return nil
        case .failure(let refusal): return refusal.reason
        }
    }
}
