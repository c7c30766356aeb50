import Glibc
import PushLoop
import PushTransport
import Receipts
import TestSupport
import Testing

/// The responders of a signer, played by the program `openssl`. Each request starts it.
final class OCSPResponder: ReceiptTransport {
    enum Behavior: Sendable {
        case good
        /// The leaf or the intermediate is revoked.
        case revoked(URLName)
        /// The responder does not know the certificates.
        case unknown
        /// The response is signed with the key of another authority.
        case forged
        case status(Int)
        case bytes([UInt8])
        case unreachable
    }

    enum URLName: String, Sendable {
        case leaf = "http://ocsp.example.com/leaf"
        case intermediate = "http://ocsp.example.com/intermediate"
    }

    struct Unreachable: Error {}

    let signer: StoreSigner
    let directory: TemporaryDirectory
    let requests = Locked(0)
    private let behavior: Locked<Behavior>

    init(_ behavior: Behavior) throws {
        var plan = StoreSigner.Plan()
        plan.leafExtensions = [StoreSigner.responder(URLName.leaf.rawValue)]
        plan.intermediateExtensions = [StoreSigner.responder(URLName.intermediate.rawValue)]
        signer = try StoreSigner(plan)
        directory = try TemporaryDirectory()
        self.behavior = Locked(behavior)
    }

    func behave(_ behavior: Behavior) { self.behavior.withLock { $0 = behavior } }

    func post(_ request: ReceiptRequest) async throws -> ReceiptResponse {
        let number = requests.withLock { count in
            count += 1
            return count
        }
        let behavior = behavior.withLock { $0 }
        let name = try #require(URLName(rawValue: request.url))
        switch behavior {
        case .unreachable: throw Unreachable()
        case .status(let status): return ReceiptResponse(status: status, body: [])
        case .bytes(let bytes): return ReceiptResponse(status: 200, body: bytes)
        case .good: return try await respond(to: request, about: name, number, status: "V")
        case .revoked(let revoked):
            return try await respond(to: request, about: name, number, status: revoked == name ? "R" : "V")
        case .unknown: return try await respond(to: request, about: name, number, status: nil)
        case .forged: return try await respond(to: request, about: name, number, status: "V", isForged: true)
        }
    }

    private func respond(
        to request: ReceiptRequest, about name: URLName, _ number: Int, status: String?, isForged: Bool = false
    ) async throws -> ReceiptResponse {
        let issuer = name == .leaf ? signer.intermediate : signer.root
        let certificate = name == .leaf ? signer.leaf.certificate : signer.intermediate.certificate
        let signing = isForged ? try CertificateAuthority(commonName: issuer.certificate.commonName ?? "") : issuer
        func file(_ kind: String, _ content: String) throws -> String {
            try directory.write("\(number).\(kind)", containing: content)
        }
        let line = status.map { status in
            let revoked = status == "R" ? "251101000000Z" : ""
            return "\(status)\t491101000000Z\t\(revoked)\t\(certificate.serial.uppercased())\tunknown\t/CN=x\n"
        }
        let requestFile = "\(directory.path)/\(number).req"
        let stream = try #require(fopen(requestFile, "we"))
        try #require(fwrite(request.body, 1, request.body.count, stream) == request.body.count)
        try #require(fclose(stream) == 0)
        let out = "\(directory.path)/\(number).resp"
        let ended = try await ChildProcess.run(
            "openssl",
            [
                "ocsp", "-index", try file("index", line ?? ""), "-CA", try file("ca", issuer.certificatePEM),
                "-rsigner", try file("signer", signing.certificatePEM), "-rkey", try file("key", signing.privateKeyPEM),
                "-reqin", requestFile, "-respout", out, "-ndays", "1",
            ])
        try #require(ended.status == 0, "\(ended.errors)")
        return ReceiptResponse(status: 200, body: try BoundedFile.read(out, limit: 1 << 20))
    }
}
