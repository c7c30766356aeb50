import PushGateways
import PushLoop
import Testing

@Suite struct ProviderTokenTests {
    @Test func `A provider token is never shown`() {
        let token = ProviderToken(
            text: Secret("eyJh.secret.sig"), generation: 1,
            mintedAt: MonotonicTime(nanoseconds: 0))
        var text = "\(token)"
        dump(token, to: &text)
        #expect(!text.contains("secret.sig"))
    }
}
