import PushLoop
import PushTime
import PushTransport
import PushWire

/// The request for an access token: a signed assertion about the account (RFC 7523), and its answer.
struct TokenRequest {
    /// The right to send, and nothing else of the project.
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Google takes at most an hour.
    private static let lifetime: Int64 = 3600
    /// Google refuses an assertion from the future, and the clocks differ a little.
    private static let tolerance: Int64 = 10
    private static let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    static let contentType = "application/x-www-form-urlencoded"

    /// Returns the body of the request: a form. It contains the assertion, which is as good as a token.
    static func form(for account: ServiceAccount, at now: WallTime) throws(CryptoError) -> [UInt8] {
        let input = assertion(for: account, at: now)
        let signature = try account.key.sign(input)
        // The characters of an assertion are not escaped in a form.
        return Array("grant_type=\(grantType)&assertion=".utf8) + input + [UInt8(ascii: ".")]
            + Array(Base64URL.encode(signature).utf8)
    }

    /// Returns `header.claims`: the input of the signature.
    static func assertion(for account: ServiceAccount, at now: WallTime) -> [UInt8] {
        var header = JSONWriter()
        header.object { header in
            header.member("alg", value: "RS256")
            header.member("typ", value: "JWT")
            header.member("kid", value: account.keyID)
        }
        let issuedAt = now.seconds.subtractingReportingOverflow(tolerance).partialValue
        var claims = JSONWriter()
        claims.object { claims in
            claims.member("iss", value: account.email)
            claims.member("scope", value: scope)
            claims.member("aud", value: account.audience)
            claims.member("iat", value: issuedAt)
            claims.member("exp", value: issuedAt.addingReportingOverflow(lifetime).partialValue)
        }
        return Array("\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))".utf8)
    }
}

/// The answer to a ``TokenRequest``.
enum TokenAnswer {
    case token(Secret<String>, lifetime: Duration)
    /// The reason, as the end of a sentence.
    case refused(String)

    private static let maxBodyLength = 65_536
    private static let maxTokenLength = 4096
    private static let maxTextLength = 200
    /// A longer life is not believed, and a shorter one is not used: each request would need a token of its own.
    private static let lifetimes: ClosedRange<Int64> = 1...86_400

    init(status: Int, body: [UInt8]) {
        guard body.count <= Self.maxBodyLength, let json = try? JSONDocument(body), json.kind(json.root) == .object
        else {
            self = .refused("it answered \(status) without JSON")
            return
        }
        let text = { (name: StaticString) in json.value(name, in: json.root).flatMap { json.string($0) } }
        guard status == 200 else {
            let words = [text("error"), text("error_description")].compactMap { $0 }.map(Self.shown)
            self = .refused("it answered \(status)\(words.isEmpty ? "" : " " + words.joined(separator: ": "))")
            return
        }
        guard let token = text("access_token"), (1...Self.maxTokenLength).contains(token.utf8.count),
            // The token becomes a field of each request.
            token.utf8.allSatisfy({ (0x21..<0x7f).contains($0) })
        else {
            self = .refused("its answer has no access token")
            return
        }
        guard let seconds = json.value("expires_in", in: json.root).flatMap({ json.integer($0) }), seconds >= 1 else {
            self = .refused("its answer does not say when the access token ends")
            return
        }
        self = .token(Secret(token), lifetime: .seconds(min(seconds, Self.lifetimes.upperBound)))
    }

    private static func shown(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(maxTextLength).filter { (0x20..<0x7f).contains($0.value) }))
    }
}
