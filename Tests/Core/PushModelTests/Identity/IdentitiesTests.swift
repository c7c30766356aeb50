import TestSupport
import Testing

@testable import PushModel

/// The hashes are stored in data directories, so the values expected here must never change. They were computed by
/// another implementation.
@Suite struct IdentitiesTests {
    private let identities = Identities(secret: Array(100..<132))!
    private let shop = AppID("shop")!
    private let token = Address(words: (0x0102_0304_0506_0708, 2, 3, 4))
    private var message: MessageFingerprint { identities.message(of: shop, id: MessageID("order-4711")!) }

    @Test func `A secret must have 32 bytes`() {
        #expect(Identities(secret: Array(0..<31)) == nil)
        #expect(Identities(secret: Array(0..<33)) == nil)
    }

    @Test func `Device ids never change`() {
        #expect(identities.device(of: shop, token: token).description == "5932718fc46212d26273e3f26428d0a0")
        let long = Address(bytes: Array(1...40 as ClosedRange<UInt8>))!
        #expect(identities.device(of: shop, token: long).description == "16d29f9c4bd00c02146be6a5aafb5aff")
        #expect(identities.device(of: AppID("other")!, token: token) != identities.device(of: shop, token: token))
    }

    @Test func `Fingerprints of messages and deliveries never change`() {
        #expect(message.value == 0xdb49_08ce_70d6_3516)
        #expect(
            identities.delivery(of: message, to: identities.device(of: shop, token: token)).value
                == 0x9696_3f21_6cba_2737)
    }

    @Test func `Hashes of contents never change and ignore the traceparent`() {
        let plain = Message(id: MessageID("a")!, app: shop, payload: Array("{}".utf8), traceparent: "t")
        #expect(identities.content(of: plain) == 0x8748_6a3d_9fda_072e)
        let full = Message(
            id: MessageID("b")!, app: shop, type: MessageType(1, word: "background", defaultPriority: .five),
            priority: .five, expiry: Expiry(expiresAt: 100),
            collapseID: CollapseID("c")!, payload: Array(#"{"a":1}"#.utf8), onUnknown: .drop, notBefore: 200)
        #expect(identities.content(of: full) == 0x8bfe_2bdd_0f29_661c)
    }

    @Test func `Hashes of audiences never change and ignore the order of names`() {
        func audience(_ audience: Audience) -> UInt64 { identities.audience(of: audience, app: shop, message: message) }
        let device = identities.device(of: shop, token: token)
        let other = Address(words: (9, 2, 3, 4))
        #expect(audience(.tokens([token])) == 0x9696_3f21_6cba_2737)
        #expect(audience(.devices([device])) == 0x9696_3f21_6cba_2737)
        #expect(audience(.tokens([token, other])) == 0xb484_6213_7d9f_17df)
        #expect(audience(.tokens([other, token])) == 0xb484_6213_7d9f_17df)
        #expect(audience(.devices([DeviceID(high: 7, low: 8), device])) == 0x656d_f5ad_fc16_a0a0)
        #expect(audience(.users(["ann", "bob"])) == 0x9800_90e6_bb7d_0294)
        let tags = TagExpression.all([.any([.tag("d"), .tag("c")]), .tag("a"), .not(.tag("b"))])
        #expect(audience(.tags(tags)) == 0xc1af_3604_7f0f_eff2)
        #expect(audience(.everyone) == 5)
    }
}
