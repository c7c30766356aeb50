import Foundation
import RequestQueue

/// Signatures of requests as RFC 9421 describes, with `hmac-sha256` and the label `carillon`.
struct RequestSigner: Sendable {
    let keyID: String
    let secret: KeySecret

    /// Adds `Content-Digest`, `Signature-Input` and `Signature` to a request with this body.
    ///
    /// - Parameter created: The time of the server, in seconds since 1970.
    /// - Parameter nonce: 16 to 64 characters that were never used before.
    func sign(_ request: inout Request, body: Data, created: Int64, nonce: String) {
        let components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        let path = components?.percentEncodedPath ?? ""
        var lines = [
            "\"@method\": \(request.method.rawValue)", "\"@path\": \(path.isEmpty ? "/" : path)",
            "\"@query\": ?\(components?.percentEncodedQuery ?? "")",
        ]
        var names = "\"@method\" \"@path\" \"@query\""
        if !body.isEmpty {
            let digest = "sha-256=:\(Data(SHA256Digest.of(body)).base64EncodedString()):"
            request.fields["Content-Digest"] = digest
            lines.append("\"content-digest\": \(digest)")
            names += " \"content-digest\""
        }
        let parameters = "(\(names));created=\(created);keyid=\"\(keyID)\";alg=\"hmac-sha256\";nonce=\"\(nonce)\""
        lines.append("\"@signature-params\": \(parameters)")
        let code = SHA256Digest.authenticationCode(of: lines.joined(separator: "\n").utf8, key: secret.bytes)
        request.fields["Signature-Input"] = "carillon=\(parameters)"
        request.fields["Signature"] = "carillon=:\(Data(code).base64EncodedString()):"
    }

    /// Returns 32 random hexadecimal digits.
    static func makeNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in
            String(Int(UInt8.random(in: 0...255, using: &generator)) + 256, radix: 16).dropFirst()
        }
        .joined()
    }
}
