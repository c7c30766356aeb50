import PushTransport
import Receipts
import TestSupport
import TestTraits
import Testing

/// Chains with keys on other curves than P-256. Apple's root and intermediate are on P-384, and its leaves on P-256.
@Suite(.waits) struct CurveTests {
    private let vectors = StoreVectors()

    /// An authority or a leaf in PEM, made by the command of OpenSSL.
    private struct Made {
        let certificate: String
        let key: String
        let der: [UInt8]

        var authority: CertificateAuthority {
            get throws { try CertificateAuthority(certificate: .text(certificate), key: .text(key)) }
        }
    }

    private static let authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
    private static let leaf = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"

    private static func make(
        _ name: String, curve: String, extensions: String, issuer: Made? = nil
    ) async throws -> Made {
        let directory = try TemporaryDirectory()
        let path = { (file: String) in "\(directory.path)/\(file)" }
        func openssl(_ words: String...) async throws {
            let ended = try await ChildProcess.run("openssl", words)
            try #require(ended.status == 0, "\(ended.errors)")
        }
        func text(_ file: String) async throws -> String { try await ChildProcess.run("cat", [path(file)]).output }
        _ = try directory.write("extensions", containing: extensions)
        try await openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out", path("key"))
        try await openssl("req", "-new", "-key", path("key"), "-subj", "/CN=\(name)", "-out", path("request"))
        let sign = ["x509", "-req", "-in", path("request"), "-days", "30", "-extfile", path("extensions"), "-sha384"]
        var signer = ["-signkey", path("key")]
        if let issuer {
            _ = try directory.write("issuer", containing: issuer.certificate)
            _ = try directory.write("issuer.key", containing: issuer.key)
            signer = ["-CA", path("issuer"), "-CAkey", path("issuer.key"), "-CAcreateserial"]
        }
        let signed = try await ChildProcess.run("openssl", sign + signer + ["-out", path("certificate")])
        try #require(signed.status == 0, "\(signed.errors)")
        try await openssl("x509", "-in", path("certificate"), "-outform", "DER", "-out", path("der"))
        return Made(
            certificate: try await text("certificate"), key: try await text("key"),
            der: try BoundedFile.read(path("der"), limit: 1 << 16))
    }

    /// Returns a root and an intermediate on P-384, as Apple's.
    private static func authorities() async throws -> (root: Made, intermediate: Made) {
        let root = try await make("Root", curve: "P-384", extensions: authority)
        let intermediate = try await make(
            "Intermediate", curve: "P-384",
            extensions: authority + "\(StoreSigner.intermediatePurpose)=DER:05:00\n", issuer: root)
        return (root, intermediate)
    }

    @Test("A chain of Apple's shape, with root and intermediate on P-384, is accepted")
    func appleShape() async throws {
        let (root, intermediate) = try await Self.authorities()
        var plan = StoreSigner.Plan()
        plan.root = try root.authority
        plan.intermediate = try intermediate.authority
        let signer = try StoreSigner(plan)
        let verifier = try StoreVectors(signer: signer).verifier()
        // The certificates are valid from now on, in seconds.
        let text = try signer.sign(vectors.transaction(signedAt: StoreSigner.now() + 1_000))
        #expect(try verifier.transaction(text).content.productID == "com.example.shop.gold")
        #expect(refusal { try vectors.verifier().transaction(text) } == .untrustedChain)
    }

    @Test("A leaf on another curve is refused with a code of its own", arguments: ["P-384", "P-521", "secp256k1"])
    func otherLeaf(curve: String) async throws {
        let (root, intermediate) = try await Self.authorities()
        let leaf = try await Self.make(
            "Leaf", curve: curve, extensions: Self.leaf + "\(StoreSigner.leafPurpose)=DER:05:00\n",
            issuer: intermediate)
        var plan = StoreSigner.Plan()
        plan.root = try root.authority
        plan.intermediate = try intermediate.authority
        let signer = try StoreSigner(plan)
        let verifier = try StoreVectors(signer: signer).verifier()
        let chain = [leaf.der, signer.chain[1], signer.chain[2]]
        let time = StoreSigner.now() + 1_000
        func code(_ algorithm: String) throws -> ReceiptRefusal.Code? {
            let header = signer.header(chain: chain, algorithm: algorithm)
            let text = try signer.sign(vectors.transaction(signedAt: time), header: header)
            return refusal { try verifier.transaction(text) }
        }
        #expect(try code("ES256") == .wrongKey)
        #expect(try code("ES384") == .unsupportedAlgorithm)
    }
}
