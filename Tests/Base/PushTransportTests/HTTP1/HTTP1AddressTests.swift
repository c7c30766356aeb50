import PushLoop
import PushTransport
import Testing

@Suite struct HTTP1AddressTests {
    @Test(
        arguments: [
            ("http://example.com", "http://example.com/", "example.com", 80),
            ("HTTPS://example.com", "https://example.com/", "example.com", 443),
            ("https://example.com:443/a/b?c=d", "https://example.com/a/b?c=d", "example.com", 443),
            (
                "http://127.0.0.1:8470/v1/appstore/notifications", "http://127.0.0.1:8470/v1/appstore/notifications",
                "127.0.0.1", 8470
            ),
            ("http://[::1]:8470?x", "http://[::1]:8470/?x", "::1", 8470),
            ("http://[::1]", "http://[::1]/", "::1", 80),
        ] as [(String, String, String, UInt16)])
    func `An address has a scheme, a host, a port and a target`(text: String, whole: String, host: String, port: UInt16)
    {
        let address = HTTP1Address(text)
        #expect(address?.description == whole)
        #expect(address?.endpoint == HostPort(host: host, port: port))
        #expect(HTTP1Address(whole) == address)
    }

    @Test(arguments: [
        "", "example.com", "ftp://example.com", "http://", "http:///path", "http://user@example.com/", "http://a b/",
        "http://example.com/a b", "http://example.com/\r\nHost: evil", "http://example.com/#part",
        "http://example.com:0/",
        "http://example.com:99999/", "http://example.com:x/", "http://ex\u{e4}mple.com/", "http://::1/",
        "http://example.com/" + String(repeating: "a", count: 3000),
    ])
    func `Another text is not an address`(text: String) {
        #expect(HTTP1Address(text) == nil)
    }
}
