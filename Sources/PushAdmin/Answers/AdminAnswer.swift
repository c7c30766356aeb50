import FoundationEssentials

/// The answer to a request, for both the server and the client.
package struct AdminAnswer: Sendable, Equatable {
    package let status: Int
    package let body: [UInt8]
    /// The media type of the body.
    package let type: String
    /// The allowed methods, for an answer with status 405.
    package var allow: String?

    /// The body of an answer to a request that was rejected or failed.
    package struct Refusal: Codable {
        package let error: AdminFault
    }

    package init(status: Int, body: [UInt8], type: String = "application/json") {
        self.status = status
        self.body = body
        self.type = type
    }

    package static func json(_ value: some Encodable, status: Int = 200) -> AdminAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return AdminAnswer(status: status, body: Array(try encoder.encode(value)) + [0x0a])
        } catch {
            // JSON cannot represent some numbers, such as infinity.
            return .refused(AdminFault(500, code: "internal", message: "cannot encode the answer: \(error)"))
        }
    }

    package static func refused(_ fault: AdminFault) -> AdminAnswer {
        json(Refusal(error: fault), status: fault.status)
    }
}
