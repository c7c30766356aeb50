import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

@Suite struct VAPIDAuthorizationTests {
    private func refusal(
        at now: WallTime = noon, subscription query: String = "", _ authorization: (Sender) throws -> String
    ) throws -> (status: UInt16, text: String)? {
        let service = try PushService()
        let subscription = try service.subscribe(query)
        let reaction = try service.send(to: subscription, at: now) {
            $0.authorization = try authorization(service.sender)
        }
        if reaction.status == 201 { return nil }
        #expect(reaction.error?["errno"]?.integer == 109)
        return (reaction.status, reaction.error?["message"]?.string ?? "")
    }

    @Test("The example of RFC 8292 is valid, at its time and origin")
    func verifiesTheStandard() throws {
        let authorization = try VAPIDAuthorization(
            "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0"
                + "NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2"
                + "rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, "
                + "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")
        #expect(authorization.subject == "mailto:push@example.com")
        try authorization.check(origin: "https://push.example.net", now: 1_453_523_768 - 86_400)
        #expect(throws: WebPushRefusal.self) {
            try authorization.check(origin: "https://push.example.net", now: 1_453_523_768 - 86_401)
        }
        #expect(throws: WebPushRefusal.self) {
            try authorization.check(origin: "https://push.example.net", now: 1_453_523_768)
        }
        #expect(throws: WebPushRefusal.self) {
            try authorization.check(origin: "https://push.example.net:443", now: 1_453_523_767)
        }
    }

    @Test("The form of the field is free where RFC 8292 leaves it free")
    func readsForms() throws {
        #expect(try refusal { "VAPID k=\($0.publicText),t=\(try $0.token())" } == nil)
        #expect(try refusal { "vapid x=1, t=\(try $0.token()),  k=\($0.publicText)=" } == nil)
        #expect(try refusal { try $0.authorization(claims: Sender.claims(subject: "https://example.com/")) } == nil)
        #expect(
            try refusal { try "vapid t=\($0.token(header: #"{"alg":"ES256"}"#)), k=\($0.publicText)" } == nil)
        let fraction = Sender.claims().replacing(#","sub""#, with: #".5,"sub""#)
        #expect(try refusal { try $0.authorization(claims: fraction) } == nil)
    }

    static let badClaims = [
        ("{}", "aud is missing"), ("[]", "not a JSON Web Token"),
        (Sender.claims(origin: "https://127.0.0.1"), "aud is not the origin"),
        (Sender.claims(origin: Sender.origin + "/"), "aud is not the origin"),
        (Sender.claims(origin: "HTTPS://127.0.0.1:2444"), "aud is not the origin"),
        (Sender.claims(expiresAt: noon.seconds), "expired"),
        (Sender.claims(expiresAt: noon.seconds + 86_401), "24 hours"), (Sender.claims(expiresAt: .max), "24 hours"),
        (Sender.claims(subject: "ops@example.com"), "mailto:"), (Sender.claims(subject: "mailto:"), "mailto:"),
        (Sender.claims().replacing("mailto:ops@example.com", with: "http://example.com"), "mailto:"),
        (Sender.claims().replacing(#","sub":"mailto:ops@example.com""#, with: ""), "sub is missing"),
        (Sender.claims().replacing(#""exp":\#(noon.seconds + 43_200)"#, with: #""exp":"1""#), "not a number"),
        (Sender.claims().replacing(#""exp":\#(noon.seconds + 43_200)"#, with: #""exp":1e999"#), "24 hours"),
    ]

    @Test("A token with a wrong claim is refused by name", arguments: badClaims)
    func refusesClaims(claims: String, text: String) throws {
        let refusal = try #require(try refusal { try $0.authorization(claims: claims) })
        #expect(refusal.status == 401)
        #expect(refusal.text.contains(text), "\(refusal.text)")
    }

    @Test("A field that is not a signed token with its key is refused by name")
    func refusesForms() throws {
        let other = try Sender()
        let cases: [(part: String, make: (Sender) throws -> String)] = [
            ("begin with vapid", { "Bearer \(try $0.token())" }), ("begin with vapid", { _ in "vapid" }),
            ("both parameters", { "vapid t=\(try $0.token())" }), ("both parameters", { "vapid k=\($0.publicText)" }),
            ("occurs twice", { try $0.authorization() + ", k=\(other.publicText)" }),
            ("not Base64URL", { "vapid t=\(try $0.token()), k=***" }),
            (
                "not an uncompressed point",
                { "vapid t=\(try $0.token()), k=\(Sender.text(Array($0.point.dropLast())))" }
            ),
            (
                "not an uncompressed point",
                { "vapid t=\(try $0.token()), k=\(Sender.text([4] + [UInt8](repeating: 1, count: 64)))" }
            ),
            ("signature of the token", { "vapid t=\(try $0.token()), k=\(other.publicText)" }),
            ("signature of the token", { "vapid t=\(try $0.token().dropLast(2)), k=\($0.publicText)" }),
            ("not a JSON Web Token", { "vapid t=a.b, k=\($0.publicText)" }),
            ("not a JSON Web Token", { "vapid t=\(try $0.token()).x, k=\($0.publicText)" }),
            ("ES256", { "vapid t=\(try $0.token(header: #"{"alg":"none"}"#)), k=\($0.publicText)" }),
            ("too long", { try $0.authorization() + String(repeating: " ", count: 5000) }),
        ]
        for one in cases {
            let refusal = try #require(try refusal(one.make), "\(one.part)")
            #expect(refusal.status == 401 && refusal.text.contains(one.part), "\(refusal.text)")
        }
    }

    @Test("Only the key that a subscription was made with may send to it")
    func bindsKeys() throws {
        let service = try PushService()
        let other = try Sender()
        let bound = try service.subscribe("application_server_key=\(other.publicText)")
        let refused = try service.send(to: bound)
        #expect(refused.status == 403 && refused.error?["errno"]?.integer == 109)
        #expect(try service.send(to: bound) { $0.authorization = try other.authorization() }.status == 201)
        let free = try service.subscribe()
        #expect(try service.send(to: free).status == 201)
    }

    @Test("A token is checked again each time, although its signature is verified once")
    func checksTimeAgain() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let authorization = try service.sender.authorization()
        for (second, status) in [(0, 201), (43_199, 201), (43_200, 401)] as [(Int64, UInt16)] {
            let reaction = try service.send(to: subscription, at: after(second)) { $0.authorization = authorization }
            #expect(reaction.status == status)
        }
    }

    @Test("A contact on this machine is taken with a warning, because Apple refuses it")
    func warnsOfLocalContacts() throws {
        let service = try PushService()
        let subscription = try service.subscribe()
        let reaction = try service.send(to: subscription) {
            $0.authorization = try service.sender.authorization(claims: Sender.claims(subject: "mailto:me@localhost"))
        }
        #expect(reaction.status == 201)
        #expect(
            try service.lines("/webpush/received").first?["warnings"]?.elements?.map(\.string) == ["local_subject"])
    }
}
