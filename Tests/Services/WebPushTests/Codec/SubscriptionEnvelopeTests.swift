import PushModel
import PushTime
import PushWire
import Testing

@testable import WebPush

/// Subscriptions in envelopes, where they are objects.
@Suite struct SubscriptionEnvelopeTests {
    private static let apps: AppTable = {
        var settings = WebPushSettings(vapid: "v", subject: "mailto:a@example.com")
        settings.navigate = "https://shop.example/"
        let web = AppID("web")!
        return AppTable([AppFacts(id: web, codec: WebPushCodec(app: web, settings: settings))])
    }()

    private func read(_ tokens: String, members: String = #""alert":"Hello""#) throws -> PushRequest {
        let text = #"{"id":"m-1","app":"web","to":{"tokens":[\#(tokens)]},\#(members)}"#
        return try unsafe Array(text.utf8).withUnsafeBytes { bytes in
            try unsafe EnvelopeReader(apps: Self.apps).read(bytes, payload: nil, now: 1_767_000_000)
        }
    }

    private func addresses(_ tokens: String) throws -> [Address] {
        guard case .tokens(let addresses) = try read(tokens).audience else { return [] }
        return addresses
    }

    private func fault(_ tokens: String, members: String = #""alert":"Hello""#) -> String? {
        do {
            _ = try read(tokens, members: members)
            return nil
        } catch {
            return (error as? EnvelopeFault)?.rejection.detail
        }
    }

    @Test("Tokens are objects or their texts, in any order, and one that is given twice is one")
    func objects() throws {
        let one = SubscriptionTests.subscription()
        let two = SubscriptionTests.subscription("https://web.push.apple.com/two")
        let quoted = one.replacing("\"", with: "\\\"")
        let codec = WebPushCodec()
        let (first, second) = (try codec.address(one), try codec.address(two))
        #expect(try addresses(one) == [first])
        #expect(try addresses("\(one), \(two)") == [first, second])
        #expect(try addresses("\(two), \"\(quoted)\", \(one), \(two)") == [second, first])
    }

    @Test("The fault of an object names its number, and nothing of it")
    func faults() {
        let one = SubscriptionTests.subscription()
        let bad = SubscriptionTests.subscription("https://evil.example/hush")
        let detail = fault("\(one), \(bad)")
        #expect(detail?.hasPrefix("token 2 of 2 has an endpoint at a host") == true)
        #expect(detail?.contains("hush") == false)
        #expect(fault("[]")?.contains("token 1 of 1 is an array") == true)
        #expect(fault("{}")?.contains("token 1 of 1 has no endpoint") == true)
        #expect(fault("7") != nil && fault("null") != nil && fault("\"x\"") != nil)
    }

    @Test("Live Activities are refused by name")
    func activities() {
        let live = #""live_activity":{"event":"update","content_state":{}}"#
        #expect(fault(SubscriptionTests.subscription(), members: live)?.contains("Web Push") == true)
    }
}
