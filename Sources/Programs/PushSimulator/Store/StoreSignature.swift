package import PushTransport

/// The signatures of the simulated App Store, with certificates of the same shape as Apple's: the root of the simulator,
/// an intermediate and a leaf, each of these two with the extension of its purpose. Both are made at each start.
package struct StoreSignature: Sendable {
    private static let intermediatePurpose = "1.2.840.113635.100.6.2.1"
    private static let leafPurpose = "1.2.840.113635.100.6.11.1"

    private let header: [UInt8]
    private let key: ES256PrivateKey

    package init(root: CertificateAuthority) throws {
        // The value of Apple's extensions is NULL.
        func purpose(_ oid: String) -> [CertificateRequest.Extension] { [.init(oid: oid, value: [0x05, 0x00])] }
        let intermediate = try root.issueAuthority(
            commonName: "Carillon Simulator Store CA", extensions: purpose(Self.intermediatePurpose))
        let leaf = try intermediate.issue(
            CertificateRequest(
                commonName: "Carillon Simulator Store Signing", usage: .client, extensions: purpose(Self.leafPurpose)))
        key = try ES256PrivateKey(pem: .text(leaf.privateKeyPEM))
        var text = JSONText()
        text.object {
            $0.member("alg", string: "ES256")
            $0.array("x5c") { list in
                for certificate in [leaf.certificate, intermediate.certificate, root.certificate] {
                    list.element(String(decoding: Base64.encode(certificate.der), as: UTF8.self))
                }
            }
        }
        header = Base64.encodeURL(text.bytes)
    }

    /// Returns the payload as a compact JSON Web Signature.
    package func sign(_ payload: [UInt8]) throws -> String {
        let text = header + [UInt8(ascii: ".")] + Base64.encodeURL(payload)
        return String(decoding: text + [UInt8(ascii: ".")] + Base64.encodeURL(try key.sign(text)), as: UTF8.self)
    }
}
