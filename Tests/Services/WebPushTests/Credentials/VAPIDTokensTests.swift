import PushLoop
import PushTime
import PushTransport
import PushWire
import TestSupport
import Testing

@testable import WebPush

/// The tokens that identify an app to push services (RFC 8292).
@Suite struct VAPIDTokensTests {
    private static let begin = WallTime(seconds: 1_800_000_000)

    private func parts(_ token: VAPIDTokens.Token) throws -> (jwt: [Substring], key: String) {
        let text = token.authorization.withRevealed { $0 }
        let halves = text.split(separator: ", k=")
        try #require(halves.count == 2 && halves[0].hasPrefix("vapid t="))
        return (halves[0].dropFirst(8).split(separator: "."), String(halves[1]))
    }

    @Test("A token names the origin, its end and the contact, and its signature is that of the key")
    func content() throws {
        let key = VAPIDKey(try ES256PrivateKey.generate())
        let tokens = VAPIDTokens(key: key, subject: "mailto:ops@example.com", wallClock: { Self.begin })
        let (jwt, publicKey) = try parts(tokens.token(for: Origin(host: "push.example.com", port: 8443)))
        try #require(jwt.count == 3)
        let header = try JSONDocument(try #require(Base64URL.decode(String(jwt[0]))))
        #expect(header.value("alg", in: header.root).flatMap { header.string($0) } == "ES256")
        #expect(header.value("typ", in: header.root).flatMap { header.string($0) } == "JWT")
        let claims = try JSONDocument(try #require(Base64URL.decode(String(jwt[1]))))
        let text = { (name: StaticString) in claims.value(name, in: claims.root).flatMap { claims.string($0) } }
        #expect(text("aud") == "https://push.example.com:8443" && text("sub") == "mailto:ops@example.com")
        #expect(
            claims.value("exp", in: claims.root).flatMap { claims.integer($0) } == Self.begin.seconds + 12 * 3600)
        let point = try #require(Base64URL.decode(publicKey))
        #expect(point.count == 65 && publicKey == key.publicKey)
        let verifier = try ES256PublicKey(point: point)
        let signature = try #require(Base64URL.decode(String(jwt[2])))
        #expect(verifier.verify(Array("\(jwt[0]).\(jwt[1])".utf8), signature: signature))
    }

    @Test("The port of https is not part of the audience")
    func usualPort() { #expect(Origin(host: "updates.push.services.mozilla.com").description.hasSuffix(".com")) }

    @Test("A token is kept for hours and replaced well before its end, also by a clock that has jumped")
    func renewal() throws {
        let now = Locked(Self.begin)
        let tokens = VAPIDTokens(
            key: VAPIDKey(try ES256PrivateKey.generate()), subject: "mailto:a@example.com",
            wallClock: { now.withLock { $0 } })
        let origin = Origin(host: "push.example.com")
        let text = { try tokens.token(for: origin).authorization.withRevealed { $0 } }
        let first = try text()
        now.withLock { $0 = $0 + .seconds(5 * 3600) }
        #expect(try text() == first)
        now.withLock { $0 = Self.begin + .seconds(6 * 3600) }
        let second = try text()
        #expect(second != first)
        // A step of a second back is no reason for another token; a day is.
        now.withLock { $0 = $0 - .seconds(1) }
        #expect(try text() == second)
        now.withLock { $0 = $0 - .seconds(86_400) }
        let third = try text()
        #expect(third != second && third != first)
        now.withLock { $0 = $0 + .seconds(400 * 86_400) }
        #expect(try text() != third)
    }

    @Test("Origins have tokens of their own, and thousands of them do not stay in memory")
    func origins() throws {
        let tokens = VAPIDTokens(
            key: VAPIDKey(try ES256PrivateKey.generate()), subject: "mailto:a@example.com",
            wallClock: WallTime.current)
        var seen: Set<String> = []
        for number in 0..<1000 {
            seen.insert(
                try tokens.token(for: Origin(host: "p\(number).example.com")).authorization.withRevealed { $0 })
        }
        #expect(seen.count == 1000)
    }

    @Test("A key is read from a PEM file of P-256, and other files are refused by name")
    func files() throws {
        let directory = try TemporaryDirectory()
        let key = try ES256PrivateKey.generate()
        let path = "\(directory.path)/vapid.pem"
        #expect(try NewSecretFile.create(path, Array(key.pem.utf8)))
        #expect(try VAPIDKey(file: path) == VAPIDKey(key))
        let other = "\(directory.path)/other.pem"
        #expect(try NewSecretFile.create(other, Array("hello".utf8)))
        // Another key ends all subscriptions, so it is no advice for a file that is only out of reach.
        let missing = "\(directory.path)/missing.pem"
        for (bad, advice) in [(other, "carillon keys vapid"), (missing, "restore"), (directory.path, "restore")] {
            do {
                _ = try VAPIDKey(file: bad)
                Issue.record("read \(bad)")
            } catch {
                #expect("\(error)".contains(bad) && "\(error)".contains(advice), "\(error)")
                #expect("\(error)".contains("carillon keys vapid") == (bad == other), "\(error)")
            }
        }
    }
}
