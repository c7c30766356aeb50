import PushLogic
import PushModel
import PushStore
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests of what a key may do, and of how its rights end.
@Suite(.waits) struct KeyLifeTests {
    @Test func `A revoked key ends at once, and its name is free again`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            #expect(await scene.outcome(try SignedRequest().signed(by: key)) == "orders")
            _ = try await scene.registrar.revoke(try #require(APIKeyName("orders")))
            #expect(scene.ended.withLock { $0.map(\.description) } == [key.id])
            var parts = SignedRequest()
            parts.nonce = "another-nonce-0001"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated revoked_key")
            // A revocation is final, even if the clock is set back.
            scene.setClock(GuardScene.start - .seconds(1000))
            parts.created = scene.now.wall.seconds
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated revoked_key")
            scene.setClock(GuardScene.start + .seconds(5))
            let next = try await scene.add()
            parts.created = scene.now.wall.seconds
            #expect(next.id != key.id)
            #expect(await scene.outcome(try parts.signed(by: next)) == "orders")
            #expect(scene.ended.withLock { $0.count } == 1)
        }
    }

    @Test func `An expired key ends at its time, with its streams`() async throws {
        try await withGuard { scene in
            let key = try await scene.add { $0.lifetime = .seconds(60) }
            var parts = SignedRequest()
            parts.created = GuardScene.start.seconds + 59
            scene.wait(.milliseconds(59_999))
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
            scene.wait(.milliseconds(1))
            parts.nonce = "another-nonce-0001"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated expired_key")
            #expect(scene.ended.withLock { $0.isEmpty })
            // The timer of the guard reports it without any request.
            await scene.loop.advance(by: .seconds(1))
            #expect(scene.ended.withLock { $0.map(\.description) } == [key.id])
            await scene.loop.advance(by: .seconds(10))
            #expect(scene.ended.withLock { $0.count } == 1)
        }
    }

    @Test func `Both secrets are valid during the overlap of a rotation`() async throws {
        try await withGuard { scene in
            let old = try await scene.add { draft in
                (draft.apps, draft.lifetime, draft.rate) = ([AppID("shop")!], .seconds(90 * 86_400), 50)
                draft.from = [try! AddressRange("192.0.2.0/24")]
            }
            scene.wait(.seconds(3600))
            let name = try #require(APIKeyName("orders"))
            let made = try await scene.registrar.rotate(name, overlap: .seconds(600))
            let new = try Credentials(made)
            #expect(made.key.apps == [AppID("shop")!] && made.key.rate == 50 && made.key.from.count == 1)
            #expect(made.key.expiresAt == scene.now.wall + .seconds(90 * 86_400))
            var parts = SignedRequest()
            parts.created = scene.now.wall.seconds
            // A nonce belongs to one key.
            #expect(await scene.outcome(try parts.signed(by: old)) == "orders")
            #expect(await scene.outcome(try parts.signed(by: new)) == "orders")
            scene.wait(.seconds(599))
            parts.created = scene.now.wall.seconds
            parts.nonce = "another-nonce-0001"
            #expect(await scene.outcome(try parts.signed(by: old)) == "orders")
            scene.wait(.seconds(1))
            parts.nonce = "another-nonce-0002"
            #expect(await scene.outcome(try parts.signed(by: old)) == "unauthenticated revoked_key")
            #expect(await scene.outcome(try parts.signed(by: new)) == "orders")
            await scene.loop.advance(by: .seconds(1))
            #expect(scene.ended.withLock { $0.map(\.description) } == [old.id])
        }
    }

    @Test func `A second rotation ends the overlap of the first one`() async throws {
        try await withGuard { scene in
            let first = try await scene.add()
            let name = try #require(APIKeyName("orders"))
            let second = try Credentials(try await scene.registrar.rotate(name, overlap: .seconds(600)))
            let third = try Credentials(try await scene.registrar.rotate(name, overlap: .zero))
            #expect(await scene.outcome(try SignedRequest().signed(by: first)) == "unauthenticated revoked_key")
            #expect(await scene.outcome(try SignedRequest().signed(by: second)) == "unauthenticated revoked_key")
            #expect(await scene.outcome(try SignedRequest().signed(by: third)) == "orders")
            #expect(Set(scene.ended.withLock { $0.map(\.description) }) == [first.id, second.id])
            // A revocation ends every secret of the name.
            _ = try await scene.registrar.rotate(name, overlap: .seconds(600))
            #expect(try await scene.registrar.revoke(name).count == 2)
            var parts = SignedRequest()
            parts.nonce = "another-nonce-0001"
            #expect(await scene.outcome(try parts.signed(by: third)) == "unauthenticated revoked_key")
        }
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("10.0.0.0/8", "::a01:203", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
        ("::/0", "2001:db8::1", true),
        ("::/0", "192.0.2.7", false), ("0.0.0.0/0", "192.0.2.7", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("fe80::/10", "fe80::1%eth0", true), ("::ffff:10.0.0.0/104", "10.2.3.4", true), ("::1", "::1", true),
    ])
    func `A key is limited to its addresses`(_ range: String, _ host: String, _ isAllowed: Bool) async throws {
        try await withGuard { scene in
            let key = try await scene.add { $0.from = [try! AddressRange(range)] }
            var parts = SignedRequest()
            parts.host = host
            #expect(
                await scene.outcome(try parts.signed(by: key))
                    == (isAllowed ? "orders" : "forbidden address_not_allowed"))
        }
    }

    @Test func `Roles include what the contract says, and apps limit the caller`() async throws {
        let allowed: [Role: Set<Role>] = [
            .register: [.register], .push: [.push], .observe: [.observe], .operate: [.operate, .observe],
            .admin: [.admin, .operate, .observe],
        ]
        try await withGuard { scene in
            for (index, role) in Role.allCases.enumerated() {
                let key = try await scene.add(role.rawValue, roles: [role]) { $0.apps = [AppID("shop")!] }
                var parts = SignedRequest()
                parts.nonce = "nonce-number-00\(index)"
                guard case .success(let caller) = await scene.check(try parts.signed(by: key)) else {
                    Issue.record("\(role) is refused")
                    continue
                }
                for other in Role.allCases { #expect(caller.allows(other) == allowed[role]?.contains(other)) }
                #expect(caller.allows(AppID("shop")!))
                #expect(!caller.allows(AppID("bank")!))
                #expect(throws: AccessRefusal.forbidden(.appNotAllowed, key: caller.key)) {
                    try caller.mustActForAllApps()
                }
            }
        }
    }

    @Test func `The rate of a key is kept, and a copied request does not use it up`() async throws {
        try await withGuard { scene in
            let key = try await scene.add { $0.rate = 10 }
            var parts = SignedRequest()
            let first = try parts.signed(by: key)
            #expect(await scene.outcome(first) == "orders")
            for _ in 0..<15 { #expect(await scene.outcome(first) == "replayed replayed") }
            for number in 10..<19 {
                parts.nonce = "nonce-number-0\(number)"
                #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
            }
            parts.nonce = "nonce-number-019"
            guard case .failure(let refusal) = await scene.check(try parts.signed(by: key)) else {
                Issue.record("the eleventh request of a second is accepted")
                return
            }
            #expect(refusal.reason == .tooManyRequests && refusal.retryAfter == 1 && refusal.status == 429)
            // The nonce of a refused request is not used: the same request may be sent again.
            scene.wait(.milliseconds(100))
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
        }
    }

    @Test func `Keys survive a restart, and requests from before it are refused`() async throws {
        let first = try await GuardScene()
        let key = try await first.add()
        first.wait(.seconds(100))
        var parts = SignedRequest()
        parts.created = first.now.wall.seconds
        let accepted = try parts.signed(by: key)
        #expect(await first.outcome(accepted) == "orders")
        await first.close()
        let second = try await GuardScene(at: first.directory, startedAt: first.now.wall + .seconds(2))
        #expect(await second.outcome(accepted) == "clock_skew clock_skew")
        parts.created = second.now.wall.seconds
        #expect(await second.outcome(try parts.signed(by: key)) == "orders")
        await second.close()
    }
}
