import Foundation
import TestSupport

/// The server with faults of `Servers/fault_server.py`, as a process of one test.
final class FaultServer: Sendable {
    let process: ChildProcess
    let port: Int

    init() async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Servers/fault_server.py").path
        process = try ChildProcess("python3", ["-B", script])
        guard let line = try await process.line(), let port = Int(line) else {
            throw ChildProcess.NotStarted(description: "the fault server did not start")
        }
        self.port = port
    }

    /// Returns the URL of a path with a query.
    func url(_ path: String, _ query: KeyValuePairs<String, String> = [:]) throws -> URL {
        var components = URLComponents()
        components.scheme = "http"
        components.host = "127.0.0.1"
        components.port = port
        components.path = path
        if !query.isEmpty { components.queryItems = query.map { URLQueryItem(name: $0.key, value: $0.value) } }
        guard let url = components.url else { throw CocoaError(.coderInvalidValue) }
        return url
    }
}

/// What the path `/echo` of the server reports.
struct Echo: Decodable {
    let method: String
    let fields: [String: String]
    let bytes: Int
    let sha256: String
    let body: String
}
