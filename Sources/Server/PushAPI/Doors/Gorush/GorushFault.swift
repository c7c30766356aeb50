import PushWire

/// Why a request as a whole is not carried out. The answer has gorush's two members.
struct GorushFault: Error, Equatable, Sendable {
    let status: Int
    let message: String

    init(_ message: String, status: Int = 400) {
        self.status = status
        self.message = message
    }

    var answer: APIAnswer {
        let body: JSONValue = ["code": .integer(Int64(status)), "message": .string(message)]
        var answer = APIAnswer(status: status, body: body.bytes + [0x0a])
        if status == 503 { answer.headers.add("Retry-After", value: "1") }
        return answer
    }
}

/// The answer to a request that is not carried out, for the documentation.
enum GorushFaultKind: WrittenKind {
    static var mediaType: String { "application/json; charset=utf-8" }
    static var schemaName: String? { "GorushFault" }
    static var schema: JSONValue {
        [
            "type": "object", "required": ["code", "message"],
            "properties": [
                "code": ["type": "integer", "description": "The status of the answer."],
                "message": ["type": "string", "description": "What is wrong, and where."],
            ],
        ]
    }
}
