import PushLoop
package import PushTransport

/// A signer with certificates of the same shape as Apple's for App Store data: a root, an intermediate and a leaf, each
/// with the extension of its purpose. A request changes single parts, to make what a verifier must refuse.
package struct StoreSigner: Sendable {
    package static let leafPurpose = "1.2.840.113635.100.6.11.1"
    package static let intermediatePurpose = "1.2.840.113635.100.6.2.1"

    /// The certificates to make. The defaults are those of a genuine chain.
    package struct Plan: Sendable {
        package var root: CertificateAuthority?
        /// An intermediate that the root has issued, in place of a new one.
        package var intermediate: CertificateAuthority?
        package var hasIntermediatePurpose = true
        package var hasLeafPurpose = true
        package var intermediateValidity: CertificateValidity?
        package var leafValidity: CertificateValidity?
        package var leafExtensions: [CertificateRequest.Extension] = []
        package var intermediateExtensions: [CertificateRequest.Extension] = []

        package init() {}
    }

    /// A genuine signer, created once per process.
    package static let shared: StoreSigner = {
        do {
            return try StoreSigner(Plan())
        } catch {
            fatalError("test certificates: \(error)")
        }
    }()

    package let root: CertificateAuthority
    package let intermediate: CertificateAuthority
    package let leaf: IssuedCertificate
    private let key: ES256PrivateKey

    package init(_ plan: Plan) throws {
        // The value of Apple's extensions is NULL.
        func purpose(_ oid: String) -> CertificateRequest.Extension { .init(oid: oid, value: [0x05, 0x00]) }
        root = try plan.root ?? CertificateAuthority(commonName: "Store Test Root")
        intermediate =
            try plan.intermediate
            ?? root.issueAuthority(
                commonName: "Store Test Intermediate", validity: plan.intermediateValidity,
                extensions: (plan.hasIntermediatePurpose ? [purpose(Self.intermediatePurpose)] : [])
                    + plan.intermediateExtensions)
        leaf = try intermediate.issue(
            CertificateRequest(
                commonName: "Store Test Signing", usage: .client, validity: plan.leafValidity,
                extensions: (plan.hasLeafPurpose ? [purpose(Self.leafPurpose)] : []) + plan.leafExtensions))
        key = try ES256PrivateKey(pem: .text(leaf.privateKeyPEM))
    }

    /// Returns the extension of a certificate that names its OCSP responder (authority information access).
    package static func responder(_ url: String) -> CertificateRequest.Extension {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let method: [UInt8] = element(0x06, [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01])
        let access = element(0x30, method + element(0x86, Array(url.utf8)))
        return CertificateRequest.Extension(oid: "1.3.6.1.5.5.7.1.1", value: element(0x30, access))
    }

    /// The certificates in DER: leaf, intermediate, root.
    package var chain: [[UInt8]] {
        [leaf.certificate.der, intermediate.certificate.der, root.certificate.der]
    }

    /// Returns the header of genuine signed data, with other certificates if they are given.
    package func header(chain: [[UInt8]]? = nil, algorithm: String = "ES256") -> String {
        let certificates = (chain ?? self.chain).map { "\"\(Self.base64($0))\"" }.joined(separator: ",")
        return "{\"alg\":\"\(algorithm)\",\"x5c\":[\(certificates)]}"
    }

    /// Signs a payload. A given header replaces the genuine one.
    package func sign(_ payload: String, header: String? = nil) throws -> String {
        let text = "\(Base64URL.encode(header ?? self.header())).\(Base64URL.encode(payload))"
        return "\(text).\(Base64URL.encode(try key.sign(Array(text.utf8))))"
    }

    /// Encodes with the alphabet and the padding of RFC 4648, section 4.
    package static func base64(_ bytes: [UInt8]) -> String {
        let digits = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(digits) + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    }
}

extension StoreSigner {
    /// A time in milliseconds at which the certificates are valid.
    package static func now() -> Int64 { WallTime.current().milliseconds }
}
