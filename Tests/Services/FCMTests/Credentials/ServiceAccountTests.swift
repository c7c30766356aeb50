import PushTime
import PushTransport
import PushWire
import TestSupport
import Testing

@testable import FCM

@Suite struct ServiceAccountTests {
    private static let key = try! RS256PrivateKey.generate()

    static func file(_ changes: [String: JSONValue?] = [:]) -> [UInt8] {
        var members: [String: JSONValue] = [
            "type": "service_account", "project_id": "shop-1", "private_key_id": "0123abcd",
            "private_key": .string(key.pem), "client_email": "push@shop-1.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
        ]
        for (name, value) in changes { members[name] = value }
        return JSONValue.object(members).bytes
    }

    @Test func `The file of the Firebase console is read`() throws {
        let account = try ServiceAccount(Self.file(), name: "firebase.json")
        #expect(account.project.text == "shop-1" && account.keyID == "0123abcd")
        #expect(account.email == "push@shop-1.iam.gserviceaccount.com")
        #expect(account.tokenAddress.description == "https://oauth2.googleapis.com/token")
        #expect(try account == ServiceAccount(Self.file(), name: "other"))
        let other = Self.file(["private_key": .string(try RS256PrivateKey.generate().pem)])
        #expect(try account != ServiceAccount(other, name: "firebase.json"))
        #expect(try account != ServiceAccount(Self.file(["project_id": "shop-2"]), name: "firebase.json"))
    }

    @Test(
        arguments: [
            (["type": "authorized_user"], "another type"), (["project_id": nil], "project_id"),
            (["project_id": "a/b"], "project_id"), (["project_id": 7], "project_id"),
            (["client_email": nil], "client_email"), (["client_email": "a\nb"], "client_email"),
            (["private_key": nil], "private_key"), (["private_key": "secret words"], "private_key"),
            (["private_key_id": "a b"], "private_key_id"), (["token_uri": "http://127.0.0.1/token"], "token_uri"),
            (["token_uri": "file:///etc/passwd"], "token_uri"), (["project_info": [:]], "google-services.json"),
        ] as [([String: JSONValue?], String)])
    func `A file that cannot be used is refused by name, without its content`(
        _ changes: [String: JSONValue?], _ name: String
    ) {
        #expect { try ServiceAccount(Self.file(changes), name: "firebase.json") } throws: {
            "\($0)".contains(name) && "\($0)".contains("firebase.json") && !"\($0)".contains("secret words")
                && !"\($0)".contains("PRIVATE")
        }
    }

    @Test func `A key of another kind is refused`() throws {
        let key = Self.file(["private_key": .string(try ES256PrivateKey.generate().pem)])
        #expect { try ServiceAccount(key, name: "f") } throws: { "\($0)".contains("RSA key") }
        for text in ["", "[]", "{", "PEM"] {
            #expect(throws: ServiceAccountError.self) { try ServiceAccount(Array(text.utf8), name: "f") }
        }
        #expect(throws: ServiceAccountError.self) { try ServiceAccount(file: "/nonexistent/firebase.json") }
    }

    @Test func `The private key is in no description`() throws {
        let account = try ServiceAccount(Self.file(), name: "firebase.json")
        var text = "\(account) \(String(reflecting: account))"
        dump(account, to: &text)
        let secret = Self.key.pem.split(separator: "\n").dropFirst()[1]
        #expect(!text.contains(secret) && !text.contains("PRIVATE KEY"))
    }

    @Test func `An assertion is signed, lives for an hour, and begins a little earlier`() throws {
        let account = try ServiceAccount(Self.file(), name: "firebase.json")
        let form = String(
            decoding: try TokenRequest.form(for: account, at: WallTime(milliseconds: 2_000_000_000_999)), as: UTF8.self)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(form.hasPrefix(prefix))
        let parts = form.dropFirst(prefix.count).split(separator: ".").map(String.init)
        let text = { String(decoding: Base64URL.decode($0) ?? [], as: UTF8.self) }
        #expect(text(parts[0]) == #"{"alg":"RS256","typ":"JWT","kid":"0123abcd"}"#)
        #expect(
            text(parts[1])
                == #"{"iss":"push@shop-1.iam.gserviceaccount.com","scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.googleapis.com/token","iat":1999999990,"exp":2000003590}"#)
        let signature = try #require(Base64URL.decode(parts[2]))
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(Self.key.publicKey.verify(input, signature: signature))
        #expect(!Self.key.publicKey.verify(input + [0], signature: signature))
        #expect(!Self.key.publicKey.verify(input, signature: []))
    }

    @Test func `An answer is a token with an end, or a reason`() {
        let answer = { (status: Int, body: String) -> String in
            switch TokenAnswer(status: status, body: Array(body.utf8)) {
            case .token(let text, let lifetime): "\(text.withRevealed { $0 }) lives \(lifetime.components.seconds)"
            case .refused(let reason): reason
            }
        }
        #expect(
            answer(200, #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#) == "ya29.x lives 3599")
        #expect(answer(200, #"{"access_token":"x","expires_in":99999999999}"#) == "x lives 86400")
        #expect(
            answer(400, #"{"error":"invalid_grant","error_description":"Bad\n\u0007 key"}"#).contains(
                "invalid_grant: Bad key"))
        for body in [
            "", "[]", "<html>", #"{"access_token":"","expires_in":1}"#, #"{"access_token":"a b","expires_in":1}"#,
            #"{"access_token":"a\r\nx: y","expires_in":1}"#, #"{"access_token":"x"}"#,
            #"{"access_token":"x","expires_in":0}"#,
            #"{"access_token":"x","expires_in":"3599"}"#,
        ] { #expect(!answer(200, body).contains("lives"), "\(body)") }
        #expect(answer(503, "<html>").contains("503"))
    }

    @Test func `No prefix and no changed byte of an answer traps, and a token that is taken can be a field`() {
        var random = SeededRandom(seed: 11)
        let bodies = [
            #"{"access_token":"ya29.a0AfH6SMB-x_y","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
        ].map { Array($0.utf8) }
        func check(_ status: Int, _ bytes: [UInt8]) {
            switch TokenAnswer(status: status, body: bytes) {
            case .token(let text, let lifetime):
                let isField = text.withRevealed { !$0.isEmpty && $0.utf8.allSatisfy { (0x21..<0x7f).contains($0) } }
                #expect(isField && status == 200 && (.seconds(1) ... .seconds(86_400)).contains(lifetime))
            case .refused(let reason):
                #expect(reason.utf8.allSatisfy { (0x20..<0x7f).contains($0) } && reason.utf8.count < 500)
            }
        }
        for body in bodies {
            for count in 0...body.count { for status in [200, 400] { check(status, Array(body.prefix(count))) } }
            for _ in 0..<3000 { check([200, 400, 503][Int(random.next() % 3)], random.mutate(body, chance: 1)) }
        }
    }
}
