import Foundation
import RequestQueue
import TestSupport

@testable import DeviceRegistrar

/// A `carillon serve` process whose app `shop` has a credential that nobody asks, and an API key for phones.
final class RegistrarScene: Sendable {
    let directory: TemporaryDirectory
    let process: ChildProcess
    let server: URL
    let keyID: String
    let secret: KeySecret
    let secretText: String

    private struct Served: Decodable { let http: String }

    private struct MadeKey: Decodable {
        let keyID: String
        let secret: String

        enum CodingKeys: String, CodingKey {
            case secret
            case keyID = "key_id"
        }
    }

    init() async throws {
        directory = try TemporaryDirectory()
        let key = try await ChildProcess.run(
            "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
        _ = try directory.write("key.p8", containing: key.output)
        let authority = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-key", "\(directory.path)/key.p8", "-subj", "/CN=Test", "-out",
                "\(directory.path)/ca.pem",
            ])
        guard authority.status == 0 else { throw ChildProcess.NotStarted(description: authority.errors) }
        let file = try directory.write(
            "carillon.json5",
            containing: """
                { data: 'data', http: { listen: '127.0.0.1:0' },
                  intake: { router: 'tcp://127.0.0.1:0', pull: 'tcp://127.0.0.1:0' },
                  events: { publish: 'tcp://127.0.0.1:0', replay: 'tcp://127.0.0.1:0' },
                  apps: { shop: { topic: 'com.example.shop', environment: 'production',
                    credential: { key: 'key.p8', key_id: 'ABCDEFGHIJ', team_id: 'CARILLON01' },
                    endpoint: { host: '127.0.0.1', port: 1, trust: 'ca.pem' } } } }
                """)
        process = try ChildProcess(
            "sh", ["-c", "exec \"$@\" 2>&1", "sh", ChildProcess.carillon, "serve", "--config", file, "--json"])
        var served: Served?
        var lines: [String] = []
        while served == nil {
            guard let line = try await process.line() else {
                throw ChildProcess.NotStarted(description: "serve did not start: \(lines)")
            }
            lines.append(line)
            if line.hasPrefix("{\"apps\"") { served = try JSONDecoder().decode(Served.self, from: Data(line.utf8)) }
        }
        let made = try await ChildProcess.run(
            ChildProcess.carillon,
            [
                "keys", "api", "add", "phones", "--role", "register", "--app", "shop", "--json", "--data",
                "\(directory.path)/data",
            ])
        let answer = try JSONDecoder().decode(MadeKey.self, from: Data(made.output.utf8))
        guard let http = served?.http, let server = URL(string: http), let secret = KeySecret(answer.secret) else {
            throw ChildProcess.NotStarted(description: "cannot read the answers: \(lines) \(made.output)")
        }
        self.server = server
        self.secret = secret
        secretText = answer.secret
        keyID = answer.keyID
    }

    func configuration(_ file: String = "registrar.json") -> RegistrarConfiguration {
        RegistrarConfiguration(
            server: server, app: "shop", keyID: keyID, secret: secret,
            file: URL(fileURLWithPath: directory.path).appendingPathComponent(file))
    }

    func registrar(_ file: String = "registrar.json", clockOffset: Int64 = 0) throws -> DeviceRegistrar {
        try DeviceRegistrar(configuration(file), queue: RequestQueue()) {
            Int64(Date().timeIntervalSince1970 * 1000) + clockOffset
        }
    }

    /// Returns the answer of the control socket.
    func ask(_ path: String) async throws -> String {
        try await ChildProcess.run(
            "curl", ["--silent", "--unix-socket", "\(directory.path)/data/control.sock", "http://carillon/v1/\(path)"]
        ).output
    }
}
