/// The reason why a request was rejected or failed. Its JSON is `{"error":{"code":…,"message":…}}`.
package struct AdminFault: Error, Sendable, Equatable, Codable {
    /// A code for programs, which never changes.
    package let code: String
    /// A sentence for people: what is wrong, and what to do.
    package let message: String
    /// The HTTP status; 0 in a fault that a client has decoded.
    package let status: Int

    private enum CodingKeys: CodingKey {
        case code, message
    }

    package init(_ status: Int, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            0, code: try fields.decode(String.self, forKey: .code),
            message: try fields.decode(String.self, forKey: .message))
    }

    package static func badRequest(_ message: String) -> AdminFault {
        AdminFault(400, code: "bad_request", message: message)
    }

    package static func unknownApp(_ name: String) -> AdminFault {
        AdminFault(404, code: "unknown_app", message: "there is no app \"\(name)\" in the configuration in force")
    }
}
