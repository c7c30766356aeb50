import Testing

@testable import PushAPI

@Suite struct AllowedHostsTests {
    @Test(
        arguments: [
            ("localhost", "localhost"), ("Push.Example.COM:443", "push.example.com"), ("localhost.", "localhost"),
            ("localhost.:80", "localhost"), ("localhost:", "localhost"), ("[::1]", "::1"), ("[::1]:8470", "::1"),
            ("127.0.0.1:1", "127.0.0.1"), ("", ""), (":80", ""),
            ("localhost:80:80", nil), ("localhost:evil", nil), ("localhost:-1", nil), ("[::1", nil), ("[::1]80", nil),
            ("[::1].evil.example", nil), ("[evil.example]", nil), ("[]", nil), ("[", nil), ("localhost: 80", nil),
        ] as [(String, String?)])
    func `A host is a name with an optional port, or nothing is allowed`(_ host: String, _ name: String?) {
        #expect(AllowedHosts.name(in: host) == name)
        if name == nil || name == "" { #expect(!AllowedHosts(["evil.example", "::1"]).contains(host)) }
    }
}
