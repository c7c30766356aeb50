import PushWire
import Testing

@testable import APNs

@Suite struct ProviderTokenTextTests {
    @Test func `Header and claims contain exactly the members that Apple reads`() throws {
        let text = try #require(
            ProviderTokenText(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", issuedAt: 1_767_225_600))
        // The text encodes {"alg":"ES256","kid":"ABC123DEFG"} and {"iss":"DEF123GHIJ","iat":1767225600}. It was created
        // by another program.
        let golden =
            "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ"
            + ".eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzY3MjI1NjAwfQ"
        #expect(String(decoding: text.signingInput, as: UTF8.self) == golden)
        #expect(
            text.text(signature: Array(192...255)) == golden
                + ".wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t_g4eLj5OXm5-jp6uvs7e7v8PHy8_T19vf4-fr7_P3-_w")
    }

    @Test(arguments: [
        "", "ABC123DEF", "ABC123DEFGH", "abc123defg", "ABC123DEF\"", "ABC 23DEFG", "ÄBC123DEF", "ABC123DEF\n",
    ])
    func `A malformed key id or team id gives no token`(id: String) {
        #expect(!ProviderTokenText.isIdentifier(id))
        #expect(ProviderTokenText(keyID: id, teamID: "DEF123GHIJ", issuedAt: 0) == nil)
        #expect(ProviderTokenText(keyID: "ABC123DEFG", teamID: id, issuedAt: 0) == nil)
    }
}
