import Glibc
import PushTransport
import TestSupport
import Testing

@testable import PushConfiguration

@Suite struct TLSContextsTests {
    @Test("The file with the roots is read once for all protocols and client certificates, and again by the next load")
    func sharedRoots() throws {
        let folder = try TemporaryDirectory()
        let certificates = TestCertificates.shared
        let path = try folder.write("roots.pem", containing: certificates.authority.certificatePEM)
        let contexts = TLSContexts()
        let first = try contexts.client(.file(path), alpn: ["h2"])
        #expect(unlink(path) == 0)

        #expect(try contexts.client(.file(path), alpn: ["h2"]) === first)
        let other = try contexts.client(.file(path), alpn: ["http/1.1"])
        let certified = try contexts.client(.file(path), alpn: ["h2"], identity: certificates.clientIdentity)
        #expect(other !== first && certified !== first)
        #expect(throws: (any Error).self) { try TLSContexts().client(.file(path), alpn: ["h2"]) }
    }

    @Test func `An error about the roots of an endpoint names the setting, the file and what to do`() throws {
        let path = try TemporaryDirectory().path + "/none.pem"
        let endpoint = Configuration.Endpoint(host: "127.0.0.1", port: 1, trust: .file(path))
        let error = #expect(throws: StartError.self) { try TLSContexts().client(at: endpoint, alpn: ["h2"]) }
        let text = try #require(error?.description)
        #expect(text.hasPrefix("endpoint.trust cannot be used: ") && text.contains(path), "\(text)")
        #expect(text.hasSuffix("; check the path and its permissions"), "\(text)")
    }
}
