import PushModel

@testable import PushWire

extension FuzzTarget {
    /// The header fields of signed requests: what is accepted is reproduced byte for byte, and keeps its bounds.
    static let signature = FuzzTarget(
        name: "signature",
        seeds: {
            [
                #"carillon=("@method" "@path" "@query" "content-digest");created=1795313619;keyid="k7f3qk2m";alg="hmac-sha256";nonce="b3k2pp5k7z50gnwp""#,
                #"a=("x" 1.5 ?0 :AA==:;p), carillon=( "@query"  "@path" "@method" );nonce="b3k2pp5k7z50gnwp"; created=1;alg="hmac-sha256";keyid="";expires=9;tag="t""#,
                "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:;x=\"\\\"\", b=@12, c=tok/en:*",
                "sha-512=:AAAA:, sha-256=:DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ=:;a",
                "Bearer k7f3qk2m.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
                "2001:db8::192.0.2.1%eth0", "::ffff:10.0.0.0/104",
            ].flatMap { text in (0..<5).map { [$0] + Array(text.utf8) } }
        },
        run: { input in
            let kind = input.byte() % 5
            let bytes = input.rest()
            let text = String(decoding: bytes, as: UTF8.self)
            switch kind {
            case 0: checkInput(text)
            case 1: checkInput(text.replacing("\n", with: "\", carillon=(\""))
            case 2:
                if let digest = try? ContentDigest.read([text]) {
                    require(digest.sha256.count == 32, "a digest of \(digest.sha256.count) bytes")
                    require(text.contains(digest.text), "the digest is not reproduced")
                }
            case 3:
                if let bearer = try? BearerCredential.read([text]) {
                    require(bearer.secret.utf8.count <= 200, "a bearer secret is too long")
                }
            default:
                if let address = IPAddress(text) {
                    require(IPAddress(address.description) == address, "\(text) is written as \(address)")
                }
                if let range = try? AddressRange(text) {
                    require((try? AddressRange(range.description)) == range, "\(text) is written as \(range)")
                    require(range.contains(range.base), "\(range) does not contain its base")
                }
            }
        })
}

private func checkInput(_ text: String) {
    let signature = "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:"
    _ = try? RequestSignature.read(inputs: [], signatures: [text])
    guard let read = try? RequestSignature.read(inputs: [text], signatures: [signature]) else { return }
    require(read.bytes.count == 32, "a signature of \(read.bytes.count) bytes")
    require(RequestSignature.nonceLength.contains(read.nonce.count), "a nonce of \(read.nonce.count) bytes")
    require(abs(read.created) < 1_000_000_000_000_000, "created is out of its range")
    var base: [UInt8] = []
    read.appendBase(method: "GET", target: "/a?b", digest: "d", to: &base)
    let parameters = String(decoding: read.parameters, as: UTF8.self)
    require(text.contains("carillon=" + parameters), "the parameters are not reproduced")
    require(String(decoding: base, as: UTF8.self).hasSuffix("\"@signature-params\": " + parameters), "wrong base")
    let lines = base.split(separator: UInt8(ascii: "\n"))
    require(lines.count == (read.coversDigest ? 5 : 4), "a base of \(lines.count) lines")
}
