import PushLoop
import PushTransport
import ReceiptCrypto
import Receipts
import TestSupport
import Testing

@Suite struct ChainForgeryTests {
    let vectors = StoreVectors()
    var genuine: StoreSigner { vectors.signer }
    private static let day: Int64 = 86_400_000

    /// Returns the code for data that a signer signs, at a verifier that trusts the genuine root.
    private func code(
        _ signer: StoreSigner, chain: [[UInt8]]? = nil, signedAt: Int64? = nil, trusting root: StoreSigner? = nil
    ) throws -> ReceiptRefusal.Code? {
        let text = try signer.sign(
            vectors.transaction(signedAt: signedAt), header: signer.header(chain: chain ?? signer.chain))
        let verifier = try StoreVectors(signer: root ?? genuine).verifier()
        return refusal { try verifier.transaction(text) }
    }

    private func plan(_ change: (inout StoreSigner.Plan) -> Void) throws -> StoreSigner {
        var plan = StoreSigner.Plan()
        plan.root = genuine.root
        change(&plan)
        return try StoreSigner(plan)
    }

    @Test("A second signer below the same root is accepted")
    func second() throws {
        #expect(try code(plan { _ in }) == nil)
    }

    @Test("A chain without both of Apple's extensions is refused")
    func purposes() throws {
        #expect(try code(plan { $0.hasLeafPurpose = false }) == .wrongLeafPurpose)
        #expect(try code(plan { $0.hasIntermediatePurpose = false }) == .wrongIntermediatePurpose)
    }

    @Test("A chain of another root is refused, also with the genuine root in its header")
    func otherRoot() throws {
        let stranger = try StoreSigner(StoreSigner.Plan())
        #expect(try code(stranger) == .untrustedChain)
        #expect(try code(stranger, chain: [stranger.chain[0], stranger.chain[1], genuine.chain[2]]) == .untrustedChain)
        #expect(try code(stranger, chain: [stranger.chain[0], genuine.chain[1], genuine.chain[2]]) == .untrustedChain)
        #expect(
            refusal { try SignedDataVerifier(apps: [StoreVectors.app]).transaction(genuine.sign("{}")) }
                == .untrustedChain)
    }

    @Test("A genuine chain with the signature of another key is refused")
    func swappedLeaf() throws {
        let other = try plan { _ in }
        #expect(try code(other, chain: genuine.chain) == .wrongSignature)
        #expect(try code(other, chain: [genuine.chain[0], other.chain[1], other.chain[2]]) == .untrustedChain)
    }

    @Test("A chain of none, one, two or four certificates is refused")
    func counts() throws {
        let chain = genuine.chain
        for wrong in [[], [chain[0]], [chain[0], chain[1]], chain + [chain[2]]] {
            #expect(try code(genuine, chain: wrong) == .wrongCertificateCount)
        }
    }

    @Test("A chain in another order, or with a certificate twice, is refused")
    func order() throws {
        let chain = genuine.chain
        for wrong in [[2, 1, 0], [1, 0, 2], [0, 0, 2], [1, 1, 2], [2, 2, 2], [0, 2, 1], [0, 2, 2]] {
            #expect(try code(genuine, chain: wrong.map { chain[$0] }) == .untrustedChain, "\(wrong)")
        }
    }

    @Test("A leaf that the root issued, or that a leaf issued, is refused")
    func shapes() throws {
        // The root as an issuer of leaves.
        let purpose = CertificateRequest.Extension(oid: StoreSigner.leafPurpose, value: [5, 0])
        let direct = try genuine.root.issue(
            CertificateRequest(commonName: "Direct", usage: .client, extensions: [purpose]))
        let text = try sign(
            vectors.transaction(), as: direct, chain: [direct.certificate.der] + genuine.chain.dropFirst())
        #expect(refusal { try vectors.verifier().transaction(text) } == .untrustedChain)
        // A leaf as an issuer: its certificate does not allow it.
        let rogue = try CertificateAuthority(
            certificate: .text(genuine.root.certificatePEM), key: .text(genuine.root.privateKeyPEM))
        let leafIssuer = try rogue.issue(
            CertificateRequest(
                commonName: "Leaf as issuer", usage: .client,
                extensions: [.init(oid: StoreSigner.intermediatePurpose, value: [5, 0])]))
        #expect(throws: CryptoError.self) {
            try CertificateAuthority(
                certificate: .text(leafIssuer.certificatePEM), key: .text(leafIssuer.privateKeyPEM))
        }
    }

    private func sign(_ payload: String, as leaf: IssuedCertificate, chain: [[UInt8]]) throws -> String {
        let key = try ES256PrivateKey(pem: .text(leaf.privateKeyPEM))
        let text = "\(Base64URL.encode(genuine.header(chain: chain))).\(Base64URL.encode(payload))"
        return "\(text).\(Base64URL.encode(try key.sign(Array(text.utf8))))"
    }

    @Test("An intermediate below an intermediate is refused")
    func longChain() throws {
        // The intermediate of this signer is issued by the genuine intermediate, whose path length forbids it.
        var deeper = StoreSigner.Plan()
        deeper.root = genuine.intermediate
        let signer = try StoreSigner(deeper)
        #expect(try code(signer, chain: [signer.chain[0], signer.chain[1], genuine.chain[2]]) == .untrustedChain)
    }

    @Test("Validity is that at the time of signing, and not of today")
    func validity() throws {
        let now = vectors.now
        func validity(_ from: Int64, _ until: Int64) -> CertificateValidity {
            CertificateValidity(
                notBefore: WallTime(milliseconds: (now + from * Self.day) / 1000 * 1000),
                notAfter: WallTime(milliseconds: (now + until * Self.day) / 1000 * 1000))
        }
        // The root of these chains is valid for long enough.
        let root = try CertificateAuthority(commonName: "Old Root", validity: validity(-1000, 1000))
        func signer(leaf: CertificateValidity, intermediate: CertificateValidity) throws -> StoreSigner {
            var plan = StoreSigner.Plan()
            plan.root = root
            (plan.leafValidity, plan.intermediateValidity) = (leaf, intermediate)
            return try StoreSigner(plan)
        }
        let long = validity(-900, 900)
        let past = try signer(leaf: validity(-100, -50), intermediate: long)
        #expect(try code(past, trusting: past) == .certificateExpired)
        #expect(try code(past, signedAt: now - 60 * Self.day, trusting: past) == nil)
        let fresh = try signer(leaf: validity(-10, 10), intermediate: long)
        #expect(try code(fresh, trusting: fresh) == nil)
        #expect(try code(fresh, signedAt: now - 60 * Self.day, trusting: fresh) == .certificateNotYetValid)
        #expect(try code(fresh, signedAt: now + 60 * Self.day, trusting: fresh) == .certificateExpired)
        // The validity of the intermediate counts as well.
        let middle = try signer(leaf: long, intermediate: validity(-100, -50))
        #expect(try code(middle, trusting: middle) == .certificateExpired)
        #expect(try code(middle, signedAt: now - 60 * Self.day, trusting: middle) == nil)
        #expect(try code(middle, signedAt: now - 200 * Self.day, trusting: middle) == .certificateNotYetValid)
        // The last second of a certificate is part of its validity.
        let end = validity(-100, -50).notAfter.milliseconds
        #expect(try code(past, signedAt: end + 999, trusting: past) == nil)
        #expect(try code(past, signedAt: end + 1000, trusting: past) == .certificateExpired)
        for extreme in [Int64.min, -1, 0, Int64.max] {
            #expect(try code(fresh, signedAt: extreme, trusting: fresh) != nil)
        }
    }

    @Test("A certificate that is not Base64, not a certificate, or followed by bytes is refused")
    func malformed() throws {
        let chain = genuine.chain
        #expect(try code(genuine, chain: [[1, 2, 3], chain[1], chain[2]]) == .malformedCertificate)
        #expect(try code(genuine, chain: [chain[0], [], chain[2]]) == .malformedCertificate)
        #expect(try code(genuine, chain: [chain[0] + [0], chain[1], chain[2]]) == .malformedCertificate)
        #expect(try code(genuine, chain: [chain[0], chain[1] + chain[1], chain[2]]) == .malformedCertificate)
        #expect(try code(genuine, chain: [Array(chain[0].dropLast()), chain[1], chain[2]]) == .malformedCertificate)
        let texts = chain.map { StoreSigner.base64($0) }
        for wrong in ["*", " " + texts[0], texts[0] + "\\n", String(texts[0].dropLast()), texts[0] + "=="] {
            let header = "{\"alg\":\"ES256\",\"x5c\":[\"\(wrong)\",\"\(texts[1])\",\"\(texts[2])\"]}"
            let text = try genuine.sign(vectors.transaction(), header: header)
            #expect(refusal { try vectors.verifier().transaction(text) } == .malformedBase64, "\(wrong.suffix(8))")
        }
        let header = "{\"alg\":\"ES256\",\"x5c\":[1,2,3]}"
        #expect(refusal { try vectors.verifier().transaction(genuine.sign("{}", header: header)) } == .malformedHeader)
        let text = try genuine.sign("{}", header: "{\"alg\":\"ES256\",\"x5c\":\"\(texts[0])\"}")
        #expect(refusal { try vectors.verifier().transaction(text) } == .malformedHeader)
        let without = try genuine.sign("{}", header: "{\"alg\":\"ES256\"}")
        #expect(refusal { try vectors.verifier().transaction(without) } == .missingCertificates)
    }

    @Test("Roots that are not certificates of authorities are refused when the verifier is made")
    func roots() throws {
        #expect(refusal { try TrustedRoots(der: []) } == .malformedCertificate)
        #expect(refusal { try TrustedRoots(der: [[1, 2]]) } == .malformedCertificate)
        #expect(refusal { try TrustedRoots(der: [genuine.chain[0]]) } == .malformedCertificate)
        #expect(refusal { try TrustedRoots(der: [genuine.chain[2]], includingApple: true) } == nil)
    }

    @Test("A remembered chain does not help a forgery, and the cache is bounded")
    func cache() throws {
        let other = try plan { _ in }
        let verifier = try vectors.verifier(cachedChains: 1)
        let text = try genuine.sign(vectors.transaction())
        for _ in 0..<3 {
            #expect(refusal { try verifier.transaction(text) } == nil)
            #expect(refusal { try verifier.transaction(other.sign(vectors.transaction())) } == nil)
            let forged = try other.sign(vectors.transaction(), header: genuine.header())
            #expect(refusal { try verifier.transaction(forged) } == .wrongSignature)
            let mixed = other.header(chain: [other.chain[0], genuine.chain[1], genuine.chain[2]])
            #expect(refusal { try verifier.transaction(other.sign("{}", header: mixed)) } == .untrustedChain)
        }
    }

    @Test("A genuine chain that a stranger writes in other ways is not remembered")
    func rewritten() throws {
        let verifier = try vectors.verifier()
        #expect(refusal { try verifier.transaction(genuine.sign(vectors.transaction())) } == nil)
        let leaf = genuine.chain[0]
        #expect(leaf.prefix(2) == [0x30, 0x82])
        // BER permits zeros in front of a length, and OpenSSL reads them.
        for zeros in 1...2 {
            let written = [0x30, 0x82 + UInt8(zeros)] + [UInt8](repeating: 0, count: zeros) + leaf.dropFirst(2)
            let header = genuine.header(chain: [written, genuine.chain[1], genuine.chain[2]])
            let forged = try plan { _ in }.sign(vectors.transaction(), header: header)
            #expect(refusal { try verifier.transaction(forged) } == .wrongSignature)
        }
        #expect(verifier.chainCount == 1)
    }
}
