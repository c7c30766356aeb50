import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushWire

/// Tests of the header fields of signed requests.
@Suite struct RequestSignatureTests {
    private static let parameters =
        #"("@method" "@path" "@query" "content-digest");created=1795313619;keyid="k7f3qk2m";alg="hmac-sha256";nonce="b3k2pp5k7z50gnwp""#
    private static let signature = "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:"

    private func read(_ parameters: String, signature: String = signature) throws(SignatureFault) -> RequestSignature? {
        try RequestSignature.read(inputs: ["carillon=" + parameters], signatures: [signature])
    }

    @Test func `The base has the components in their order and the parameters as they were sent`() throws {
        let signature = try #require(try read(Self.parameters))
        #expect(signature.keyID == APIKeyID("k7f3qk2m") && signature.created == 1_795_313_619)
        #expect(signature.nonce == Array("b3k2pp5k7z50gnwp".utf8) && signature.bytes.count == 32)
        var base: [UInt8] = []
        signature.appendBase(method: "POST", target: "/v1/messages", digest: "sha-256=:x:", to: &base)
        #expect(
            String(decoding: base, as: UTF8.self) == """
                "@method": POST
                "@path": /v1/messages
                "@query": ?
                "content-digest": sha-256=:x:
                "@signature-params": \(Self.parameters)
                """)
        let odd =
            #"( "@query"   "@path" "@method");nonce="b3k2pp5k7z50gnwp"; created=1;alg="hmac-sha256";  keyid="k7f3qk2m""#
        base = []
        try #require(try read(odd)).appendBase(method: "GET", target: "/a?b?c=%20", digest: "", to: &base)
        #expect(
            String(decoding: base, as: UTF8.self) == """
                "@query": ?b?c=%20
                "@path": /a
                "@method": GET
                "@signature-params": \(odd)
                """)
    }

    @Test func `Without the label there is no signature, and half of one is an error`() throws {
        #expect(try RequestSignature.read(inputs: [], signatures: []) == nil)
        #expect(try RequestSignature.read(inputs: [#"a=("x")"#, "b=1"], signatures: ["a=:AA==:"]) == nil)
        #expect(try RequestSignature.read(inputs: ["", "  "], signatures: [""]) == nil)
        #expect(throws: SignatureFault.missingSignature) {
            try RequestSignature.read(inputs: ["carillon=" + Self.parameters], signatures: [])
        }
        #expect(throws: SignatureFault.missingSignature) {
            try RequestSignature.read(inputs: [], signatures: [Self.signature])
        }
    }

    @Test(arguments: [
        (#";created=1.0"#, SignatureFault.malformedInput), (#";created="1""#, .malformedInput),
        (#";created"#, .malformedInput),
        (#";created=1234567890123456"#, .malformedInput), (#";created=1;created=1"#, .repeatedParameter),
        (#";created=1;sf"#, .unknownParameter), (#";created=1;nonce=b3k2pp5k7z50gnwp"#, .malformedInput),
        (#";created=1;nonce="b3k2pp5k7z50gnw""#, .wrongNonce),
        (#";created=1;nonce="b3k2pp5k7z50gn\"p""#, .malformedInput),
        (#";created=1;alg="HMAC-SHA256""#, .wrongAlgorithm), (#";created=1"#, .missingParameter),
        (#";created=1;tag=1"#, .malformedInput), (#";created=1;Created=1"#, .unknownParameter),
        (#" ;created=1"#, .missingParameter),
    ])
    func `Malformed parameters are refused`(_ parameters: String, _ fault: SignatureFault) {
        #expect(throws: fault) { try read(#"("@method" "@path" "@query")"# + parameters) }
    }

    @Test(arguments: [
        #"("@method""@path" "@query")"#, #"("@method" "@path" "@query";sf)"#, #"("@method" "@path" "@query""#,
        #"("@method"\#u{9}"@path" "@query")"#, #"(@method "@path" "@query")"#, #""@method""#, "",
        #"("@method" "@path" "@query"))"#,
        #"("@method" "@path" "@query"),"#, #"("@method" "@path" "@query")x"#,
    ])
    func `Malformed lists of components are refused`(_ list: String) {
        let parameters = #";created=1;keyid="k7f3qk2m";alg="hmac-sha256";nonce="b3k2pp5k7z50gnwp""#
        #expect(throws: SignatureFault.self) {
            try RequestSignature.read(
                inputs: ["carillon=" + (list.hasSuffix(",") ? list.dropLast() + parameters + "," : list + parameters)],
                signatures: [Self.signature])
        }
    }

    @Test(arguments: [
        "carillon=:AAAA:", "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM:", "carillon=xqlJ", "carillon",
        "carillon=",
        "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lN=:",
        "carillon=:xqlJfRFmeD5YVCnmd_jUmi0LZ2Ae8O-ZHPvDvahO8lM=:",
        "carillon=:====:", "carillon=?1", "Carillon=:AAAA:,", "a b", "carillon=:AAAA",
    ])
    func `A signature that is not 32 bytes of strict Base64 is refused`(_ signature: String) {
        #expect(throws: SignatureFault.self) { try read(Self.parameters, signature: signature) }
    }

    @Test func `A field of more than 4 KiB is refused without being read`() {
        let long = "a=\"" + String(repeating: "x", count: 5000) + "\", carillon=" + Self.parameters
        #expect(throws: SignatureFault.tooLong) {
            try RequestSignature.read(inputs: [long], signatures: [Self.signature])
        }
    }

    @Test func `A keyid that is not an id names no key`() throws {
        let other = Self.parameters.replacing("k7f3qk2m", with: "../etc")
        #expect(try #require(try read(other)).keyID == nil)
    }

    @Test func `Changed fields never trap, and what is accepted is reproduced`() {
        var random = SeededRandom(seed: 21)
        let input = Array(("a=(1 2);b, carillon=" + Self.parameters + ", z=?0").utf8)
        var accepted = 0
        for _ in 0..<RunKind.rounds(50_000) {
            let changed = String(decoding: random.mutate(input, chance: 0.95), as: UTF8.self)
            guard let read = try? RequestSignature.read(inputs: [changed], signatures: [Self.signature]) else {
                continue
            }
            accepted += 1
            #expect(changed.contains("carillon=" + String(decoding: read.parameters, as: UTF8.self)))
            #expect(RequestSignature.nonceLength.contains(read.nonce.count))
        }
        #expect(accepted > RunKind.rounds(1000))
    }
}
