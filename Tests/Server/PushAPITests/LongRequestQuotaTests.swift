import PushModel
import PushTime
import PushTransport
import Testing

@testable import PushAPI

/// The shares of live streams and of requests that wait.
@Suite struct LongRequestQuotaTests {
    private func client(_ key: String, at address: String) -> LongRequestQuota.Client {
        let key = APIKey(
            id: APIKeyID(String(repeating: key, count: 8))!, name: APIKeyName(key)!, roles: RoleSet([.observe]),
            apps: nil,
            createdAt: WallTime(milliseconds: 0))
        return LongRequestQuota.Client(Caller(key), at: .address(host: address, port: 1))
    }

    private let local = LongRequestQuota.Client(.local, at: .local)

    /// Takes places until there is none.
    private func fill(
        _ quota: inout LongRequestQuota, by client: LongRequestQuota.Client, takes expected: Int,
        until refusal: LongRequestQuota.Refusal
    ) {
        var count = 0
        do throws(LongRequestQuota.Refusal) {
            while true {
                try quota.take(client)
                count += 1
            }
        } catch {
            #expect(error == refusal)
        }
        #expect(count == expected)
    }

    @Test func `A key, an address and all of them leave some places to others`() throws {
        var quota = LongRequestQuota(limit: 64)
        fill(&quota, by: client("a", at: "192.0.2.1"), takes: 16, until: .keyHasItsShare)
        fill(&quota, by: client("a", at: "192.0.2.2"), takes: 0, until: .keyHasItsShare)
        fill(&quota, by: client("b", at: "192.0.2.1"), takes: 16, until: .keyHasItsShare)
        fill(&quota, by: client("c", at: "192.0.2.1"), takes: 0, until: .addressHasItsShare)
        fill(&quota, by: client("c", at: "192.0.2.2"), takes: 16, until: .keyHasItsShare)
        fill(&quota, by: client("d", at: "192.0.2.3"), takes: 8, until: .full)
        // The control socket has some of its own.
        fill(&quota, by: local, takes: 8, until: .full)
        quota.release(client("b", at: "192.0.2.1"))
        try quota.take(local)
        quota.release(local)
        for _ in 0..<8 { quota.release(local) }
        fill(&quota, by: client("c", at: "192.0.2.1"), takes: 0, until: .keyHasItsShare)
        fill(&quota, by: client("d", at: "192.0.2.1"), takes: 1, until: .full)
    }

    @Test func `What is released can be taken again`() throws {
        var quota = LongRequestQuota(limit: 16)
        for _ in 0..<1000 {
            try quota.take(client("a", at: "192.0.2.1"))
            try quota.take(local)
            quota.release(client("a", at: "192.0.2.1"))
            quota.release(local)
        }
        #expect(quota.count == 0)
        fill(&quota, by: local, takes: 16, until: .full)
    }
}
