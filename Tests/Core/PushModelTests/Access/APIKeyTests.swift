import PushModel
import PushTime
import TestSupport
import Testing

/// Tests of key ids, roles and the states of a key.
@Suite struct APIKeyTests {
    @Test func `An id has eight lowercase letters and digits`() throws {
        #expect(APIKeyID("k7f3qk2m")?.description == "k7f3qk2m")
        for text in ["", "k7f3qk2", "k7f3qk2mm", "K7f3qk2m", "k7f3qk2-", "k7f3qk2\u{e9}", "        "] {
            #expect(APIKeyID(text) == nil, "\(text)")
        }
        var random = SeededRandom(seed: 4)
        for _ in 0..<1000 {
            let id = APIKeyID(random: random.bytes(8))
            #expect(APIKeyID(id.description) == id)
        }
        #expect(APIKeyID(random: []).description == "00000000")
    }

    @Test func `Stored roles are read back, and unknown bits are refused`() {
        for bits in UInt8.min...UInt8.max {
            let roles = RoleSet(bits: bits)
            #expect((roles == nil) == (bits == 0 || bits > 31))
            if let roles { #expect(RoleSet(roles.granted) == roles) }
        }
        #expect(RoleSet.everything.granted == Role.allCases)
    }

    @Test func `The first end of a key counts`() throws {
        let name = try #require(APIKeyName("a"))
        var key = APIKey(
            id: APIKeyID("k7f3qk2m")!, name: name, roles: .everything, createdAt: 1_000_000, expiresAt: 5_000_000)
        #expect(key.state(at: 4_999_999) == .active && key.state(at: 5_000_000) == .expired)
        key.rotatedUntil = 3_000_000
        #expect(key.state(at: 2_999_999) == .rotated && key.state(at: 3_000_000) == .replaced)
        #expect(key.endsAt == 3_000_000 && key.isValid(at: 2_999_999) && !key.isValid(at: 3_000_000))
        key.revokedAt = 2_000_000
        #expect(key.state(at: 0) == .revoked && key.endsAt == 2_000_000)
    }
}
