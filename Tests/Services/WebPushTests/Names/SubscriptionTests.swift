import PushModel
import PushTransport
import PushWire
import Testing

@testable import WebPush

/// The addresses of browsers.
@Suite struct SubscriptionTests {
    static let publicKey = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    static func subscription(
        _ endpoint: String = "https://fcm.googleapis.com/fcm/send/abc", p256dh: String = publicKey,
        auth: String = secret
    ) -> String {
        #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}"#
    }

    private static let badKeyCases: [(String, String, String)] = [
        ("\(publicKey.dropLast(2))AA", secret, "point"), ("\(publicKey.dropLast(3))", secret, "65"),
        ("C\(publicKey.dropFirst())", secret, "65"), ("", secret, "65"),
        (publicKey, "\(secret.dropLast(2))", "auth"), (publicKey, "", "auth"), (publicKey, "\(secret)=", "base64url"),
        (publicKey, "*", "base64url"), (publicKey, "\(secret)AAAA", "auth"),
        (publicKey, "\(secret.dropLast(1))AAA", "auth"),
    ]

    private let codec = WebPushCodec()

    private func fault(_ text: String) -> String? {
        do {
            _ = try codec.address(text)
            return nil
        } catch {
            return error.problem
        }
    }

    @Test("A subscription is read and written as browsers give it")
    func roundTrip() throws {
        let text = Self.subscription()
        let address = try codec.address(text)
        #expect(codec.text(of: address) == text)
        #expect(address.origin == Origin(host: "fcm.googleapis.com"))
        #expect(try codec.address(codec.text(of: address)) == address)
        #expect(try ByteView.lending(text) { view in Result { try codec.address(object: view) } }.get() == address)
        let spaced =
            #"{ "keys": { "auth": "BTBZMqHH6r4Tts7J_aSIgg==", "p256dh": "\#(Self.publicKey)=" },"#
            + #" "other": [1], "endpoint": "https:\/\/fcm.googleapis.com/fcm/send/abc", "expirationTime": 17 }"#
        #expect(try codec.address(spaced) == address)
        let standard = Self.publicKey.replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(try codec.address(Self.subscription(p256dh: standard)) == address)
        #expect(try codec.address(pastedAs: " '\(text)';\n") == address)
    }

    @Test("The endpoint alone names the device, byte for byte")
    func identity() throws {
        let one = try codec.address(Self.subscription())
        let newKeys = try codec.address(Self.subscription(auth: "AAAAAAAAAAAAAAAAAAAAAA"))
        #expect(one != newKeys && one.identity == newKeys.identity)
        let upper = try codec.address(Self.subscription("https://FCM.googleapis.com/fcm/send/abc"))
        #expect(upper.identity != one.identity && upper.origin == one.origin)
    }

    @Test(
        "Origins are read from endpoints in all forms",
        arguments: [
            ("https://a.example", "a.example", 443), ("https://a.example?x=1", "a.example", 443),
            ("https://A.Example:8443/x", "a.example", 8443), ("https://127.0.0.1:1/x", "127.0.0.1", 1),
            ("https://[2001:DB8::1]/x", "2001:db8::1", 443), ("https://[::1]:8443/", "::1", 8443),
            ("https://a-b_c.example/%20!$&'()*+,;=:@~[]", "a-b_c.example", 443),
        ])
    func origins(endpoint: String, host: String, port: Int) throws {
        let address = try codec.address(Self.subscription(endpoint))
        #expect(address.origin == Origin(host: host, port: UInt16(port)))
    }

    @Test(
        "What is no endpoint is refused by name",
        arguments: [
            ("http://fcm.googleapis.com/x", "https://"), ("", "empty"),
            ("https://", "https://"), ("https:///x", "host"),
            ("https://a.example/x#y", "fragment"), ("https://u:p@a.example/x", "user name"),
            ("https://a.example/x y", "space"), (#"https://a.example/x\\y"#, "space"),
            (#"https://a.example/x\u0000y"#, "space"), (#"https://a.example/\u00e4"#, "space"),
            ("https://permanently-removed.invalid/x", "removed"), ("https://PERMANENTLY-removed.invalid", "removed"),
            ("https://a.example:0/x", "host"), ("https://a.example:65536/x", "host"), ("https://a.example:/x", "host"),
            ("https://a.example:80x/x", "host"), ("https://a..example/x", "host"), ("https://a.example./x", "host"),
            ("https://0x7f000001/x", "host"), ("https://2130706433/x", "host"), ("https://127.1/x", "host"),
            ("https://010.0.0.1/x", "host"), ("https://[::1/x", "host"), ("https://[::1]x/x", "host"),
            ("https://[fe80::1%25eth0]/x", "host"), ("https://[127.0.0.1]/x", "host"),
            ("ftp://a.example/x", "https://"),
        ])
    func badEndpoints(endpoint: String, words: String) {
        let problem = fault(Self.subscription(endpoint))
        #expect(problem?.contains(words) == true, "\(problem ?? "taken")")
    }

    @Test(
        "Keys that do not encrypt are refused by name",
        arguments: badKeyCases)
    func badKeys(publicKey: String, secret: String, words: String) {
        let problem = fault(Self.subscription(p256dh: publicKey, auth: secret))
        #expect(problem?.contains(words) == true, "\(problem ?? "taken")")
    }

    @Test(
        "What is no subscription is refused by name",
        arguments: [
            ("", "empty"), ("x", "not a subscription"), ("[]", "not a subscription"), ("{}", "endpoint"),
            (#"{"endpoint":7}"#, "endpoint"), (#"{"endpoint":"https://a.example/"}"#, "keys"),
            (#"{"endpoint":"https://a.example/","keys":[]}"#, "keys"),
            (#"{"endpoint":"https://a.example/","keys":{"auth":"AA"}}"#, "p256dh"),
        ])
    func badTexts(text: String, words: String) {
        #expect(fault(text)?.contains(words) == true)
    }

    @Test("Endpoints have a bound, and a text of a megabyte is refused by its length")
    func bounds() throws {
        let path = { (count: Int) in "https://a.example/" + String(repeating: "x", count: count - 18) }
        let longest = try codec.address(Self.subscription(path(EndpointText.maxLength)))
        #expect(longest.byteCount == Address.maxLength && longest.storedByteCount == Address.maxStoredLength)
        #expect(Address(storedBytes: longest.storedBytes) == longest)
        #expect(fault(Self.subscription(path(EndpointText.maxLength + 1)))?.contains("1967") == true)
        let made = { (count: Int) in
            String(Self.subscription(path(count)).dropLast()) + #","applicationServerKey":"\#(Self.publicKey)"}"#
        }
        #expect(try codec.address(made(EndpointText.maxLengthWithKeyID)).byteCount == Address.maxLength)
        #expect(fault(made(EndpointText.maxLengthWithKeyID + 1))?.contains("1959") == true)
        #expect(fault(Self.subscription(path(1 << 20)))?.contains("6144") == true)
    }

    @Test("No fault repeats the endpoint or a key")
    func secrecy() {
        for text in [
            Self.subscription("http://a.example/hush"), Self.subscription("https://a.example/hush#"),
            Self.subscription("https://a.example/hush", auth: "hush"), "hush", "https://a.example/hush",
        ] {
            #expect(fault(text)?.contains("hush") == false)
        }
        do {
            _ = try codec.address(pastedAs: "https://a.example/hush")
            Issue.record("an endpoint alone was taken")
        } catch {
            #expect(error.problem.contains("keys") && !error.problem.contains("hush"))
        }
    }

    @Test("Bytes of another push service have no origin")
    func foreignBytes() throws {
        #expect(try #require(Address(hex: "0a0b")).origin == nil)
        let token = try #require(Address(bytes: Array("https://a.example/".utf8)))
        #expect(token.origin == nil)
    }

    @Test("The key with which the page has subscribed is a point on P-256, or the id of a key")
    func serverKey() throws {
        let bare = Self.subscription("https://push.example.com/p/1", auth: Self.secret).dropLast()
        for (member, fault) in [
            (#""applicationServerKey":"AAAA""#, "public key"), (#""applicationServerKey":"!""#, "base64url"),
            (#""applicationServerKeyID":"AAAA""#, "3 bytes"),
        ] {
            let error = #expect(throws: AddressFault.self) { try WebPushCodec().address("\(bare),\(member)}") }
            #expect("\(error.map { "\($0)" } ?? "")".contains(fault))
        }
        for member in [#""applicationServerKey":null"#, #""applicationServerKeyID":null"#, #""x":1"#] {
            #expect(try WebPushCodec().address("\(bare),\(member)}") == WebPushCodec().address("\(bare)}"))
        }
    }
}
