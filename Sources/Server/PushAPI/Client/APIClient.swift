import FoundationEssentials
import PushLoop
import PushText
import PushTime
import PushTransport

/// The reason why a request to a running Carillon has no usable response.
package struct APIClientError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The path of the control socket is too long.
        case invalidPath
        case notRunning
        case notPermitted
        case timedOut
        case disconnected
        /// The response cannot be parsed, perhaps because the server has another version.
        case malformed
        /// The server refused the request, with this status.
        case refused(status: Int)
    }

    package let code: Code
    package let description: String
}

/// A client of the control socket. Each request has its own connection, and blocks a thread of a small pool for at most
/// `deadline`.
package struct APIClient: Sendable {
    private static let pool = BlockingPool(name: "control", threadCount: 2, queueLimit: 64)

    package let dataDirectory: String
    package let deadline: Duration

    package init(dataDirectory: String, deadline: Duration = .seconds(30)) {
        self.dataDirectory = dataDirectory
        self.deadline = deadline
    }

    package var socketPath: String { "\(dataDirectory)/\(ControlSocket.fileName)" }

    /// Sends a request and decodes its response.
    ///
    /// - Throws: ``APIClientError``, also if the server refuses the request.
    package func ask<Value: Decodable>(
        _ method: String, at path: String, body: [UInt8] = [], for type: Value.Type = Value.self
    ) async throws -> Value {
        let answer = try await send(method, to: path, body: body)
        guard (200...299).contains(answer.status) else { throw Self.refusal(answer) }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(answer.body))
        } catch {
            throw APIClientError(
                code: .malformed,
                description: "cannot decode the response of the Carillon on \(dataDirectory); is it the same version? "
                    + "(\(error))")
        }
    }

    /// Sends a request and returns the response, whatever its status.
    package func send(_ method: String, to path: String, body: [UInt8] = []) async throws -> APIAnswer {
        var request = Array("\(method) \(path) HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n".utf8)
        if method != "GET" {
            request += Array("Content-Type: application/json\r\nContent-Length: \(body.count)\r\n".utf8)
        }
        request += Array("\r\n".utf8) + body
        do {
            let response = try await Self.pool.run { [request, socketPath, deadline] in
                try HTTP1SocketCall.send(request, to: socketPath, until: MonotonicTime.current() + deadline)
            }
            return APIAnswer(status: response.status, body: response.body, headers: response.headers)
        } catch let error as HTTP1CallError {
            // It may wait in the server's socket: a server that hung carries it out when it continues.
            throw self.error(error, note: method == "GET" ? "" : "; the request may still be carried out")
        }
    }

    /// Returns the error for a response with another status than 200.
    package static func refusal(_ answer: APIAnswer) -> APIClientError {
        let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body))
        let text = problem?.detail ?? String(decoding: answer.body.prefix(500), as: UTF8.self)
        return APIClientError(
            code: .refused(status: answer.status),
            description: text.isEmpty ? "the server responded with status \(answer.status)" : text)
    }

    /// - Parameter note: Added to the description of an error after which the server may have the request.
    private func error(_ error: HTTP1CallError, note: String) -> APIClientError {
        switch error {
        case .invalidPath:
            APIClientError(
                code: .invalidPath,
                description: "\(socketPath) is too long for a socket: at most \(SocketAddress.maxUnixPathLength) bytes")
        case .notListening:
            APIClientError(
                code: .notRunning,
                description: "no Carillon is running on the data directory \(dataDirectory); start it with 'carillon "
                    + "serve', or name another directory with --data or --config")
        case .notPermitted:
            APIClientError(
                code: .notPermitted,
                description: "this user may not use \(socketPath); use the account that Carillon runs as, or root")
        case .cannotConnect(let error):
            APIClientError(code: .disconnected, description: "cannot connect to \(socketPath): \(error)")
        case .timedOut:
            APIClientError(
                code: .timedOut,
                description: "the Carillon on \(dataDirectory) did not answer within \(DurationText.write(deadline))"
                    + note)
        case .disconnected(let error):
            APIClientError(code: .disconnected, description: "connection to \(socketPath) lost: \(error)\(note)")
        case .malformed(let fault) where fault.isCutOff:
            APIClientError(
                code: .disconnected,
                description: "the Carillon on \(dataDirectory) ended the connection without an answer\(note)")
        case .malformed(let fault):
            APIClientError(code: .malformed, description: "cannot parse the response on \(socketPath): \(fault)")
        }
    }
}
