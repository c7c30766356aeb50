@testable import PushSimulator

extension FuzzTarget {
    /// Provider tokens, and the DER of topics in certificates.
    static let providerToken = FuzzTarget(
        name: "provider-token",
        seeds: {
            let head = Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8)
            let claims = Array(#"{"iss":"DEF123GHIJ","iat":1767225600}"#.utf8)
            let raw = [UInt8](repeating: 9, count: 64)
            let der: [UInt8] = [0x30, 0x44, 2, 32] + raw.prefix(32) + [2, 32] + raw.prefix(32)
            let lengths = [UInt8(head.count), UInt8(claims.count)]
            let topics: [UInt8] = [0x30, 10, 0x0c, 3, 0x61, 0x2e, 0x62, 0x30, 3, 0x0c, 1, 0x78]
            return [
                [1] + lengths + head + claims + raw, [1] + lengths + head + claims + der,
                [0] + Array("eyJhbGciOiJFUzI1NiJ9.e30.AA".utf8), [2] + topics, [2, 4, 12] + topics,
            ]
        },
        run: { input in
            switch input.byte() % 3 {
            case 0:
                check(input.rest())
            case 1:
                let (first, second) = (Int(input.byte()), Int(input.byte()))
                let parts = [input.take(first), input.take(second), input.rest()]
                check(Array(parts.map { Base64.encodeURL($0) }.joined(separator: [UInt8(ascii: ".")])))
            default:
                let identity = CertificateIdentity(userID: "a", topicLists: [input.rest(), [0x30, 0]])
                require(!identity.topics.isEmpty, "a certificate without a topic")
            }
        })
}

private func check(_ text: [UInt8]) {
    let token = ByteView.lending(text) { JSONWebToken($0) }
    guard let token else { return }
    require(token.signature.count == 64, "a signature of \(token.signature.count) bytes")
    require(text.starts(with: token.signingInput), "the signed input is not a prefix of the token")
    require(token.signingInput.count { $0 == UInt8(ascii: ".") } == 1, "the signed input does not have two parts")
}
