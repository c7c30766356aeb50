import APNs
import PushGateways
import PushLoop
import PushTransport
import TestSupport
import Testing

/// Valid and invalid credential files in a temporary directory.
struct CredentialFixture {
    static let password = "s3same-4711"

    let directory: TemporaryDirectory
    let certificate: IssuedCertificate
    let other: IssuedCertificate
    let expired: IssuedCertificate
    let early: IssuedCertificate
    let key: ES256PrivateKey

    init() throws {
        directory = try TemporaryDirectory()
        func issue(from first: Int64, to last: Int64) throws -> IssuedCertificate {
            let now = WallTime.current().milliseconds
            return try TestCertificates.shared.authority.issue(
                CertificateRequest(
                    commonName: "Apple Push Services: com.example.shop", usage: .client, userID: "com.example.shop",
                    validity: CertificateValidity(
                        notBefore: WallTime(milliseconds: now + first * 86_400_000),
                        notAfter: WallTime(milliseconds: now + last * 86_400_000)),
                    extensions: [
                        .init(oid: PushCertificate.productionOID, value: [5, 0]),
                        .init(
                            oid: PushCertificate.topicsOID,
                            value: DER.topics([
                                ("com.example.shop", ["app"]), ("com.example.shop.voip", ["voip"]),
                                ("com.example.shop.complication", ["complication"]),
                            ])),
                    ]))
        }
        certificate = try issue(from: -1, to: 300)
        other = try issue(from: -1, to: 300)
        expired = try issue(from: -10, to: -1)
        early = try issue(from: 2, to: 300)
        key = try ES256PrivateKey.generate()
    }

    var passwordFile: String { get throws { try directory.write("password.txt", containing: Self.password + "\n") } }

    func write(_ name: String, _ text: String) throws -> String { try directory.write(name, containing: text) }

    /// Creates a PKCS#12 file and returns its path.
    func pkcs12(
        _ issued: IssuedCertificate, _ arguments: [String] = [], password: String = Self.password
    ) async throws -> String {
        let pem = try write("in.pem", issued.privateKeyPEM + issued.certificatePEM)
        let out = "\(directory.path)/push.p12"
        let ended = try await ChildProcess.run(
            "openssl", ["pkcs12", "-export", "-in", pem, "-out", out, "-passout", "pass:\(password)"] + arguments)
        try #require(ended.status == 0, "\(ended.errors)")
        return out
    }

    /// Runs `openssl` and returns its output.
    func openssl(_ arguments: [String]) async throws -> String {
        let ended = try await ChildProcess.run("openssl", arguments)
        try #require(ended.status == 0, "\(ended.errors)")
        return ended.output
    }
}

/// A minimal DER encoder for test data.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(truncatingIfNeeded: count)]
        return [tag] + length + content
    }

    static func topics(_ list: [(name: String, kinds: [String])]) -> [UInt8] {
        element(
            0x30,
            list.flatMap { topic in
                element(0x0c, Array(topic.name.utf8))
                    + element(0x30, topic.kinds.flatMap { element(0x0c, Array($0.utf8)) })
            })
    }
}

/// Returns the error that `body` throws; nil if it throws none.
func credentialError(_ body: () throws -> Void) -> CredentialError? {
    do {
        try body()
        return nil
    } catch {
        return error as? CredentialError
    }
}
