import PushLoop
import PushTransport
import TestSupport

/// A `carillon simulate` process on free ports, with its own certificates.
struct RunningSimulator {
    let process: ChildProcess
    let directory: TemporaryDirectory
    private let announced: String

    init(_ arguments: [String] = []) async throws {
        directory = try TemporaryDirectory()
        process = try ChildProcess(
            ChildProcess.carillon,
            [
                "simulate", "--port", "0", "--binary-port", "0", "--feedback-port", "0", "--control-port", "0",
                "--data", "\(directory.path)/simulator", "--json",
            ] + arguments)
        guard let line = try await process.line() else {
            throw ChildProcess.NotStarted(
                description: "the simulator printed nothing: \(try await process.end().errors)")
        }
        announced = line
    }

    /// Returns a field of the JSON line that the simulator printed at its start.
    func field(_ name: String) -> String {
        guard let start = announced.range(of: "\"\(name)\":") else { return "" }
        return String(announced[start.upperBound...].drop { $0 == "\"" }.prefix { !"\",}".contains($0) })
    }

    var provider: String { "https://127.0.0.1:\(field("provider"))" }
    var control: String { "http://127.0.0.1:\(field("control"))" }

    func ask(_ path: String) async throws -> String {
        try await ChildProcess.run("curl", ["--silent", "--show-error", "\(control)\(path)"]).output
    }

    /// Returns a provider token that is signed with the key of the simulator.
    func providerToken(age seconds: Int64 = 0) throws -> String {
        try Self.token(
            of: try ES256PrivateKey(pem: .file(field("key"))), field("key_id"), field("team_id"), age: seconds)
    }

    static func token(
        of key: ES256PrivateKey, _ keyID: String, _ teamID: String, age seconds: Int64 = 0
    ) throws -> String {
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(keyID)\"}"
        let claims = "{\"iss\":\"\(teamID)\",\"iat\":\(WallTime.current().seconds - seconds)}"
        let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }

    func stop() async throws -> ChildProcess.Ended {
        process.send(15)
        return try await process.end()
    }
}

extension String {
    /// Returns the range of the first occurrence of a text.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
