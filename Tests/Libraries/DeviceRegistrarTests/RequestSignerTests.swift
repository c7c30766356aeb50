import Foundation
import RequestQueue
import TestSupport
import Testing

@testable import DeviceRegistrar

/// Signatures, secrets and tokens.
@Suite struct RequestSignerTests {
    /// The bytes 00 to 1f.
    static let secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

    @Test func `A signature is that of the documented example`() throws {
        let signer = RequestSigner(keyID: "k7f3qk2m", secret: try #require(KeySecret(Self.secret)))
        var request = Request.post(try #require(URL(string: "https://push.example.com/v1/messages")), body: .none)
        let body = Data(#"{"id":"order-4711","app":"shop","to":{"users":["ada"]},"alert":"On its way"}"#.utf8)
        signer.sign(&request, body: body, created: 1_795_313_619, nonce: "b3k2pp5k7z50gnwp")
        #expect(request.fields["Content-Digest"] == "sha-256=:DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ=:")
        #expect(request.fields["Signature"] == "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:")
    }

    @Test func `A secret appears in no description, and tokens show their beginning`() throws {
        let secret = try #require(KeySecret(Self.secret))
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(
            !"\(secret)\(String(reflecting: secret))\(dumped)\([secret])".contains("AAEC") && !dumped.contains("31"))
        let token = try #require(PushToken("740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"))
        dumped = ""
        dump(token, to: &dumped)
        #expect(!"\(token)\(String(reflecting: token))\(dumped)\([token])".contains("740f4707"))
        #expect("\(token)" == "<token 740f47…>")
    }

    @Test(arguments: ["", "AAEC", "x", RequestSignerTests.secret + "A", "!" + RequestSignerTests.secret.dropFirst()])
    func `Other texts are not a secret`(_ text: String) { #expect(KeySecret(text) == nil) }

    @Test(
        arguments: [
            ("<740f4707 bebcf74f>", "740f4707bebcf74f"), ("740F", "740f"), ("dA9HB768908=", "740f4707bebcf74f"),
            ("dA9HB768908", "740f4707bebcf74f"), ("--__", "fbefff"), ("++//", "fbefff"), ("abc", nil), ("", nil),
            ("<>", nil), ("zz!", nil), (String(repeating: "ab", count: 100), String(repeating: "ab", count: 100)),
            (String(repeating: "ab", count: 101), nil), ("dA9HB768908===", nil),
        ] as [(String, String?)])
    func `Tokens are read in every form that the server reads`(_ text: String, _ hex: String?) {
        #expect(PushToken(text)?.hex == hex)
    }

    @Test func `A token of bytes is that of its text`() {
        #expect(PushToken(Data([0x74, 0x0f]))?.hex == "740f" && PushToken(Data()) == nil)
        #expect(PushToken(Data(count: 101)) == nil)
    }
}
