import Foundation
import TestSupport

/// The client of the simulator's control port: HTTP/1.1 over a plain socket.
struct ControlPort: Sendable {
    let port: UInt16

    struct Failure: Error {
        let answer: RawClient.Answer
    }

    /// One line of the response to `GET /received`.
    struct Received: Decodable, Equatable {
        var number: Int
        var service: String
        var connection: Int
        var stream: Int?
        var identifier: Int?
        var id: String?
        var status: Int
        var reason: String?
        var token: String?
        var accepted: Bool
        var duplicate: Bool?
        var unanswered: Bool?
        var unprocessed: Bool?
        var fault: Bool?
        var payload_bytes: Int
    }

    struct Counts: Decodable, Equatable {
        struct Answer: Decodable, Equatable {
            var status: Int
            var reason: String?
            var count: Int
        }
        var requests: Int
        var accepted: Int
        var unanswered: Int
        var unprocessed: Int
        var duplicates: Int
        var accepted_again: Int
        var answers: [Answer]
    }

    @discardableResult
    func ask(_ method: String, _ path: String, _ body: String = "") throws -> RawClient.Answer {
        let client = try RawClient(port: port)
        try client.send(
            "\(method) \(path) HTTP/1.1\r\nHost: control\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let answer = try client.answer()
        guard answer.status == 200 else { throw Failure(answer: answer) }
        return answer
    }

    func received(_ query: String = "limit=100000") throws -> [Received] {
        let lines = try ask("GET", "/received?\(query)").body.split(separator: UInt8(ascii: "\n"))
        return try lines.map { try JSONDecoder().decode(Received.self, from: Data($0)) }
    }

    func counts() throws -> Counts {
        try JSONDecoder().decode(Counts.self, from: Data(try ask("GET", "/counts").body))
    }

    func setFaults(_ script: String) throws {
        try ask("PUT", "/faults", script)
    }
}
